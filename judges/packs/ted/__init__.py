"""TED: how far, how fast and how steadily an agent achieves what must happen in a task, by notes on its card."""
