"""Traffic volumes: which distribution they follow, how large a link should be, what the bill will be."""
