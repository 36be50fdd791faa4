from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from websegment_scrapy.config import Config, PageMeta
from websegment_scrapy.exceptions import ConfigError


def test_settings_are_read_with_their_types() -> None:
    settings = Settings(
        {
            "WEBSEGMENT_RENDER": "never",
            "WEBSEGMENT_MIN_WORDS": "20",
            "WEBSEGMENT_SIMILARITY": "0.85",
            "WEBSEGMENT_DROP_DUPLICATES": "true",
            "WEBSEGMENT_CHROMIUM": Path("/opt/chromium"),
        }
    )
    config = Config.from_settings(settings)
    assert config.render == "never"
    assert config.min_words == 20
    assert config.similarity == 0.85
    assert config.drop_duplicates is True
    assert config.chromium == "/opt/chromium"
    assert config.workers >= 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("RENDER", "sometimes", "accepted are 'auto', 'always' and 'never'"),
        ("SIGNATURE", "simhash", "accepted are 'minhash' and 'shingles'"),
        ("MIN_WORDS", "many", "it takes a number"),
        ("MIN_WORDS", 0, "accepted is 1 to"),
        ("SIMILARITY", 1.5, "accepted is 0.05 to 1"),
        ("DROP_DUPLICATES", "perhaps", "it takes True or False"),
        ("PAGE_TIMEOUT", -1, "accepted is 0.1 to"),
        ("FIELD", "", "is empty"),
        ("ENGINE", 3, "it takes text"),
        ("RENDERING", "always", "did you mean WEBSEGMENT_RENDER"),
        ("XYZ", 1, "known: WEBSEGMENT_CHANGED_SHARE, WEBSEGMENT_CHROMIUM, "),
        ("REVISIT", True, "it takes a list of texts"),
        ("REVISIT", "hash,never", "accepted are 'conditional', 'hash' and 'schedule'"),
        ("CHANGED_SHARE", 5, "accepted is 0 to 1"),
    ],
)
def test_bad_settings_name_the_setting_the_value_and_the_remedy(
    name: str, value: Any, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_settings({f"WEBSEGMENT_{name}": value})
    assert f"WEBSEGMENT_{name}" in str(caught.value)
    assert message in str(caught.value)


def test_the_configuration_cannot_be_changed_afterwards() -> None:
    with pytest.raises(AttributeError):
        Config().engine = "taggap"  # type: ignore[misc]


def test_meta_is_read_and_checked() -> None:
    assert PageMeta.from_meta({}) == PageMeta()
    assert PageMeta.from_meta({"websegment": {"render": "never", "skip": True}}).skip
    for bad, message in (
        ({"websegment": "never"}, "it takes a dict"),
        ({"websegment": {"rendr": "never"}}, "has no key 'rendr'"),
        ({"websegment": {"render": "maybe"}}, "accepted are 'auto', 'always' and 'never'"),
    ):
        with pytest.raises(ConfigError, match=message):
            PageMeta.from_meta(bad)
