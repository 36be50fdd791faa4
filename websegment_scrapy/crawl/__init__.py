"""Scrapy's side: rendering, middlewares, pipelines and the ``scrapy websegment`` command."""
