"""The tests; properties are tried without a time limit, because machines may be busy."""

from hypothesis import settings

settings.register_profile("websegment", deadline=None)
settings.load_profile("websegment")
