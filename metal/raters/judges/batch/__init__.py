"""Judging through providers' batch services, which cost half the price and answer within a day."""
