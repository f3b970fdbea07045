"""Text as the reference services see it: pages, sentences, chunks, and their vectors."""
