"""What stands between the browser and everything else, in a process of its own.

The browser reaches the network only through the `gate`, which connects to addresses that
`addresses` allows; the `watch` ends pages that take more memory than their share. When the crawl
dies, however it dies, the `keeper` ends what is left of the browser and removes its files.

Only the standard library is imported here: the process must start in a moment.
"""
