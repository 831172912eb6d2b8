"""Judging through providers' batch services: half the price, an answer within a day."""
