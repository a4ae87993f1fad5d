//! The tables, whose names other programs know (R42).

use rusqlite::{Connection, Transaction, TransactionBehavior};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS history (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	prompt TEXT NOT NULL,
	created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s','now') AS INTEGER)),
	cwd TEXT
)";

const INDEX: &str = "CREATE INDEX IF NOT EXISTS idx_history_created_at ON history(created_at DESC)";

/// The words of the prompts, and what keeps them up to date.
const WORDS: &str = "CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content='history', content_rowid='id');
CREATE TRIGGER history_ai AFTER INSERT ON history BEGIN
	INSERT INTO history_fts(rowid, prompt) VALUES (new.id, new.prompt);
END;
INSERT INTO history_fts(history_fts) VALUES('rebuild');";

const NO_WORDS: &str = "DROP TRIGGER IF EXISTS history_ai; DROP TABLE IF EXISTS history_fts;";

/// Fails when prompts cannot be read.
pub(super) fn probe(conn: &Connection) -> rusqlite::Result<()> {
    let mut rows = conn.prepare("SELECT id, prompt, created_at, cwd FROM history ORDER BY id DESC LIMIT 1")?;
    rows.query(())?.next().map(drop)
}

/// Makes what is missing. Nothing is written, and no lock for writing taken, when nothing is.
pub(super) fn ensure(conn: &mut Connection) -> rusqlite::Result<()> {
    if !(has(conn, "history")? && has(conn, "idx_history_created_at")? && has_words(conn)? && !is_old(conn)?) {
        let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
        // Another process may have done it meanwhile, so everything is asked again.
        if is_old(&tx)? {
            renew(&tx)?;
        }
        tx.execute_batch(TABLE)?;
        tx.execute_batch(INDEX)?;
        if !has_words(&tx)? {
            tx.execute_batch(NO_WORDS)?;
            tx.execute_batch(WORDS)?;
        }
        tx.commit()?;
    }
    probe(conn)
}

/// Makes anew what is made from the prompts: the table of words, and the indexes.
pub(super) fn rebuild(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    tx.execute_batch(NO_WORDS)?;
    tx.execute_batch(WORDS)?;
    tx.execute_batch("REINDEX main.history")?;
    tx.commit()
}

/// The same where SQLite cannot remove the old words and the index of times, as it cannot read them. Their pages belong
/// to nothing then, until a `VACUUM`.
pub(super) fn rebuild_by_force(conn: &mut Connection) -> rusqlite::Result<()> {
    let rebuilt = forget_and_make(conn);
    // After a failure the connection still knows what it was told to forget.
    rebuilt.and(conn.execute_batch("PRAGMA writable_schema = RESET"))
}

fn forget_and_make(conn: &mut Connection) -> rusqlite::Result<()> {
    const FORGET: &str = "PRAGMA writable_schema = ON;
    DELETE FROM sqlite_schema WHERE name IN ('history_ai', 'history_fts', 'idx_history_created_at')
        OR tbl_name IN ('history_fts_data', 'history_fts_idx', 'history_fts_content', 'history_fts_docsize', 'history_fts_config');
    PRAGMA writable_schema = RESET;";
    let tx = Transaction::new(conn, TransactionBehavior::Immediate)?;
    tx.execute_batch(FORGET)?;
    tx.execute_batch(INDEX)?;
    tx.execute_batch(WORDS)?;
    tx.commit()
}

/// Whatever follows in the transaction that is open is not put into the table of words.
pub(super) fn leave_words_out(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DROP TRIGGER IF EXISTS history_ai")
}

fn has(conn: &Connection, name: &str) -> rusqlite::Result<bool> {
    conn.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?.exists([name])
}

fn has_words(conn: &Connection) -> rusqlite::Result<bool> {
    Ok(has(conn, "history_fts")? && has(conn, "history_ai")?)
}

/// The times of the table come from a function that older SQLites do not have. A table with
/// constraints of its own belongs to another program, which needs them, and stays as it is.
fn is_old(conn: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM pragma_table_info('history')
        WHERE name = 'created_at' AND instr(lower(dflt_value), 'unixepoch(') > 0
        AND NOT EXISTS (SELECT 1 FROM pragma_index_list('history') WHERE \"unique\")
        AND NOT EXISTS (SELECT 1 FROM pragma_table_info('history')
            WHERE name NOT IN ('id', 'prompt', 'created_at', 'cwd') AND (\"notnull\" OR dflt_value IS NOT NULL))";
    conn.prepare(sql)?.exists(())
}

/// Puts a table as in R42 in the place of an old one. Rows and ids stay, and so do columns that
/// another program added.
fn renew(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(NO_WORDS)?;
    conn.execute_batch(
        "DROP INDEX IF EXISTS idx_history_created_at;
        ALTER TABLE history RENAME TO history_legacy;",
    )?;
    conn.execute_batch(TABLE)?;
    let mut columns = "id, prompt, created_at, cwd".to_owned();
    let known = "name NOT IN ('id', 'prompt', 'created_at', 'cwd')";
    let mut others =
        conn.prepare(&format!("SELECT name, type FROM pragma_table_info('history_legacy') WHERE {known}"))?;
    let mut rows = others.query(())?;
    while let Some(row) = rows.next()? {
        let name = quoted(&row.get::<_, String>(0)?);
        // As the table says it, quotes undone: it may be any text. Without one there is no type.
        let kind = Some(row.get::<_, String>(1)?).filter(|kind| !kind.is_empty());
        let kind = kind.as_deref().map(quoted).unwrap_or_default();
        conn.execute_batch(&format!("ALTER TABLE history ADD COLUMN {name} {kind}"))?;
        columns += ", ";
        columns += &name;
    }
    conn.execute_batch(&format!("INSERT INTO history ({columns}) SELECT {columns} FROM history_legacy"))?;
    // Ids of rows that were deleted are not given again.
    if has(conn, "sqlite_sequence")? {
        conn.execute_batch(
            "UPDATE sqlite_sequence SET seq = max(seq,
                coalesce((SELECT old.seq FROM sqlite_sequence AS old WHERE old.name = 'history_legacy'), 0))
            WHERE name = 'history'",
        )?;
    }
    conn.execute_batch("DROP TABLE history_legacy")
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
