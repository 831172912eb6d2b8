"""People as raters (GENIE): test questions, noisy annotators, leaderboards by people."""
