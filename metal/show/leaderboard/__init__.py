"""The page of a leaderboard by people: one file per section."""
