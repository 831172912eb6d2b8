"""The page of a leaderboard by people: a file a section."""
