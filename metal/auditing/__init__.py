"""METAL sections 4-6: how well judges agree with people, per language and criterion."""
