"""METAL sections 4-6: how well judges agree with people, for each language and criterion."""
