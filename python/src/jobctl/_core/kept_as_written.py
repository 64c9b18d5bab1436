"""Values that keep their text even if YAML reads them as numbers: as in domain/job-file/yaml-source.ts (test/long/python.test.ts)."""

KEPT_AS_WRITTEN = (
    ("conda", "python"),
    ("venv", "python"),
    ("ray", "version"),
    ("env", "*"),
    ("tpu", "labels", "*"),
    ("tpu", "metadata", "*"),
)
