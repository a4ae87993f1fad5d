//! Reading: the rows, and what a query means.

use super::HistoryEntry;
use crate::text::is_space;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row};

pub(super) fn recent(conn: &Connection, limit: u32) -> rusqlite::Result<Vec<HistoryEntry>> {
    entries(
        conn,
        "SELECT id, prompt, CAST(created_at AS INTEGER), cwd FROM history
        ORDER BY created_at DESC, id DESC LIMIT ?1",
        [limit],
    )
}

/// `expression` is one of [`expression`]'s.
pub(super) fn search(conn: &Connection, expression: &str, limit: u32) -> rusqlite::Result<Vec<HistoryEntry>> {
    entries(
        conn,
        "SELECT h.id, h.prompt, CAST(h.created_at AS INTEGER), h.cwd FROM history_fts
        JOIN history AS h ON h.id = history_fts.rowid
        WHERE history_fts MATCH ?1 ORDER BY h.created_at DESC, h.id DESC LIMIT ?2",
        (expression, limit),
    )
}

/// The words of a query as an expression of FTS5: quoted, so that operators mean nothing, each the
/// start of a word, and all must match. `None` without words. A word of only punctuation counts for
/// nothing in FTS5.
pub(super) fn expression(query: &str) -> Option<String> {
    let mut expression = String::new();
    // FTS5 takes its expressions to end at a NUL.
    for word in query.split(|c| is_space(c) || c == '\0').filter(|word| !word.is_empty()) {
        if !expression.is_empty() {
            expression.push(' ');
        }
        expression.push('"');
        expression += &word.replace('"', "\"\"");
        expression += "\"*";
    }
    Some(expression).filter(|expression| !expression.is_empty())
}

fn entries(conn: &Connection, sql: &str, params: impl Params) -> rusqlite::Result<Vec<HistoryEntry>> {
    let mut statement = conn.prepare(sql)?;
    let entry = |row: &Row<'_>| {
        Ok(HistoryEntry {
            id: row.get(0)?,
            prompt: text(row, 1)?.unwrap_or_default(),
            created_at: row.get::<_, Option<i64>>(2)?.unwrap_or_default(),
            cwd: text(row, 3)?,
        })
    };
    statement.query_map(params, entry)?.collect()
}

/// A column as text. Other programs may have stored bytes that are no UTF-8, or no text at all.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
    })
}
