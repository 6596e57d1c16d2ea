"""Pictures made from results: one file a kind, one shared style, no state between two pictures."""
