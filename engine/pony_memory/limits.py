"""The numbers of the contract, each named once, with its unit in the name."""

from __future__ import annotations

from typing import Final

# SPEC §3: the file boundary
MAX_FILE_BYTES: Final = 128 * 1024
SCAN_MAX_FILES: Final = 512
SCAN_MAX_BYTES: Final = 2 * 1024 * 1024
READ_AGAIN_TIMES: Final = 2
OWNER_DIR_MODE: Final = 0o700
OWNER_FILE_MODE: Final = 0o600
WATCH_MAX_DIRECTORIES: Final = 1_024

# SPEC §4: headers
YAML_HEADER_MAX_BYTES: Final = 8 * 1024

# SPEC §5: retrieval
BM25_K1: Final = 1.5
BM25_B: Final = 0.75
FIELD_WEIGHTS: Final[dict[str, int]] = {"name": 5, "tags": 4, "aliases": 4, "description": 3, "body": 1}
LINK_MAX_ADDED: Final = 3
LINK_SCORE_FACTOR: Final = 0.4
SNIPPETS_PER_HIT: Final = 3
SNIPPET_MAX_CHARS: Final = 200
SEARCH_LIMIT_MIN: Final = 1
SEARCH_LIMIT_MAX: Final = 20
SEARCH_LIMIT_DEFAULT: Final = 5

# SPEC §6: a file whose ctime is this close to the inventory is read again next time
COARSE_CLOCK_NS: Final = 20_000_000

# SPEC §7: recall
RECALL_TOP_K: Final = 6
RECALL_MIN_SCORE: Final = 0.3
RECALL_PASSAGE_TOKENS: Final = 1_024
RECALL_TOTAL_TOKENS: Final = 6_144
RECALL_SKIP_RECENT_TURNS: Final = 2
JOURNAL_RECORD_MAX_BYTES: Final = 8 * 1024
JOURNAL_MAX_BYTES: Final = 256 * 1024
JOURNAL_MAX_DAYS: Final = 30
JOURNAL_QUERY_MAX_CHARS: Final = 500
JOURNAL_MAX_CANDIDATES: Final = 20

# SPEC §8: paging
PAGE_MAX_LINES: Final = 2_000
PAGE_MAX_BYTES: Final = 50 * 1024
READ_MAX_TOKENS: Final = 8_192

# SPEC §9: Agent Notes
SAVE_MAX_TOKENS: Final = 1_024
SAVE_MAX_BYTES: Final = 16 * 1024
SAVES_PER_GRANT: Final = 5
AGENT_NOTES_SOFT_BYTES: Final = 64 * 1024
AGENT_NOTES_HARD_BYTES: Final = 128 * 1024

# SPEC §10: entries
ENTRY_FILE_NAME_MAX_BYTES: Final = 100
DEFAULT_DESCRIPTION_MAX_CHARS: Final = 200

# SPEC §11: index and capacity
INDEX_MAX_LINES: Final = 200
INDEX_MAX_BYTES: Final = 25_600
HEADROOM_NOTICE_RATIO: Final = 0.8

# SPEC §12: locks
LOCK_TIMEOUT_MS: Final = 5_000

# SPEC §13: backups and history
BACKUPS_KEPT: Final = 5
DREAM_BACKUPS_KEPT: Final = 3
HISTORY_TEXTS_MAX_BYTES: Final = 16 * 1024 * 1024
HISTORY_LOG_MAX_BYTES: Final = 4 * 1024 * 1024

# SPEC §2: project directory names and git
PROJECT_NAME_MAX_BYTES: Final = 120
PROJECT_NAME_CUT_BYTES: Final = 100
GIT_TIMEOUT_S: Final = 3.0
