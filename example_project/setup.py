"""What scrapyd-deploy makes an egg of: this project, with the settings of the fleet."""

from setuptools import find_packages, setup

setup(
    name="fleet",
    version="1.0",
    packages=find_packages(),
    entry_points={"scrapy": ["settings = fleet.settings"]},
)
