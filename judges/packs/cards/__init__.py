"""Task cards: what a session was to do, and the keys of packs on them."""
