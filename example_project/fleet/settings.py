"""Settings of every crawler of a fleet: one queue in Redis, one store in PostgreSQL."""

import os

BOT_NAME = "fleet"
SPIDER_MODULES = ["fleet.spiders"]

ADDONS = {"websegment_scrapy.Addon": 500}
ROBOTSTXT_OBEY = True

# One queue: scrapy-redis, with requests that a killed crawler does not take with it.
SCHEDULER = "websegment_scrapy.SharedScheduler"
DUPEFILTER_CLASS = "scrapy_redis.dupefilter.RFPDupeFilter"
REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
REDIS_PARAMS = {"socket_timeout": 5, "socket_connect_timeout": 5}  # the crawl waits meanwhile

# What was seen stays known when all crawlers have finished: one that starts late has nothing to do.
# The next crawl is another one: -s SCHEDULER_FLUSH_ON_START=1 for the first crawler of it.
SCHEDULER_PERSIST = True

# One store.
WEBSEGMENT_DATABASE = os.environ.get(
    "DATABASE_URL", "postgresql://crawler:crawler@127.0.0.1/crawls?connect_timeout=10"
)

# Several crawlers share a machine: each has its part of the cores.
WEBSEGMENT_WORKERS = int(os.environ.get("CRAWLER_WORKERS", "1"))

# Only for this example: its sites are served from this machine.
WEBSEGMENT_PRIVATE_HOSTS = ["127.0.0.1"]

EXTENSIONS = {
    "fleet.metrics.TextMetrics": 500,
    "spidermon.contrib.scrapy.extensions.Spidermon": 510,
}
METRICS_FOLDER = os.environ.get("METRICS_FOLDER")  # of node_exporter's textfile collector
SPIDERMON_ENABLED = True
SPIDERMON_SPIDER_CLOSE_MONITORS = ("fleet.monitors.FleetMonitors",)

LOG_LEVEL = "INFO"
TELNETCONSOLE_ENABLED = False
