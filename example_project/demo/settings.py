"""Settings of the example project. The first line after the names is the whole plugin."""

BOT_NAME = "demo"
SPIDER_MODULES = ["demo.spiders"]

# Switches websegment on: every page is rendered, cut into segments, freed of boilerplate and
# compared with the pages in the database. All WEBSEGMENT_* settings have defaults; the database
# is websegment.db in the folder where the crawl is started.
ADDONS = {"websegment_scrapy.Addon": 500}

# Good manners, as in every crawl.
ROBOTSTXT_OBEY = True

# Breadth first and one page at a time: which copy of a text is met first, and so is the original,
# is then the same in every run. A crawl that may vary leaves these lines out and is faster.
CONCURRENT_REQUESTS = 1
DEPTH_PRIORITY = 1
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

# Only for this example: its sites are served from this machine (127.0.0.1, three ports from
# DEMO_PORT on), and the crawl shows a line that moves and a table instead of a log.
DEMO_PORT = 8651
WEBSEGMENT_PRIVATE_HOSTS = ["127.0.0.1"]  # pages may not reach this machine unless it is named
EXTENSIONS = {
    "demo.server.DemoWeb": 100,
    "demo.progress.Progress": 400,
    "demo.report.Report": 500,
}
LOG_LEVEL = "WARNING"
TELNETCONSOLE_ENABLED = False
