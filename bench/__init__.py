"""`make bench`: speed as ratios against peers, measured side by side in one run (SPEC §23)."""
