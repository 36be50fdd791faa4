"""Crawls of real sites in several orders, to see that the order decides nothing.

``python -m tests.orders`` serves sites of ``WEBSEGMENT_DATA`` on loopback, crawls them in shuffled
orders, each into a database of its own, one of them a second time, and compares what the databases
know at the end: page by page, which text it has and which pages are with it in a cluster.
"""
