//! Reading rows.

use super::HistoryEntry;
use super::search::Place;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Statement};

/// What was made from the prompts, to find them by: the indexes, and the table of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Used,
    /// It may be damaged.
    LeftOut,
}

/// The newest prompts, until `look` has seen enough of them: it answers whether to go on.
pub(super) fn newest(
    conn: &Connection,
    place: &Place,
    limit: u32,
    made: Made,
    mut look: impl FnMut(HistoryEntry) -> bool,
) -> rusqlite::Result<()> {
    let indexes = match made {
        Made::Used => "",
        Made::LeftOut => "NOT INDEXED",
    };
    let sql = format!(
        "SELECT id, prompt, CAST(created_at AS INTEGER), cwd FROM history AS h {indexes}
        WHERE {} ORDER BY created_at DESC, id DESC LIMIT ?1",
        place.condition(2)
    );
    let mut statement = conn.prepare(&sql)?;
    bind(&mut statement, limit, None, place)?;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        if !look(entry(row)?) {
            break;
        }
    }
    Ok(())
}

/// The newest prompts that an expression of FTS5 matches.
pub(super) fn matching(
    conn: &Connection,
    expression: &str,
    place: &Place,
    limit: u32,
) -> rusqlite::Result<Vec<HistoryEntry>> {
    let sql = format!(
        "SELECT h.id, h.prompt, CAST(h.created_at AS INTEGER), h.cwd FROM history_fts
        JOIN history AS h ON h.id = history_fts.rowid
        WHERE history_fts MATCH ?2 AND {} ORDER BY h.created_at DESC, h.id DESC LIMIT ?1",
        place.condition(3)
    );
    let mut statement = conn.prepare(&sql)?;
    bind(&mut statement, limit, Some(expression), place)?;
    let mut rows = statement.raw_query();
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(entry(row)?);
    }
    Ok(entries)
}

impl Place {
    /// As a condition whose parameters have numbers from `first` on.
    fn condition(&self, first: usize) -> String {
        match &self.0 {
            None => "1".to_owned(),
            Some(spellings) => {
                let numbers: Vec<String> =
                    (first..first + spellings.len()).map(|number| format!("?{number}")).collect();
                format!("h.cwd IN ({})", numbers.join(", "))
            }
        }
    }
}

fn bind(statement: &mut Statement<'_>, limit: u32, expression: Option<&str>, place: &Place) -> rusqlite::Result<()> {
    statement.raw_bind_parameter(1, limit)?;
    let texts = expression.into_iter().chain(place.0.iter().flatten().map(String::as_str));
    for (at, text) in texts.enumerate() {
        statement.raw_bind_parameter(at + 2, text)?;
    }
    Ok(())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<HistoryEntry> {
    Ok(HistoryEntry {
        id: row.get(0)?,
        prompt: text(row, 1)?.unwrap_or_default(),
        created_at: row.get::<_, Option<i64>>(2)?.unwrap_or_default(),
        cwd: text(row, 3)?,
    })
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
