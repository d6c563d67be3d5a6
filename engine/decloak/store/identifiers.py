"""Names of tables and columns in SQL."""

__all__ = ["quoted"]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
