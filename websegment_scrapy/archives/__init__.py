"""Archives of pages that were fetched before: WARC and WACZ files, record by record."""
