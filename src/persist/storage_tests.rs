use crate::storage::disk::{Op, faults};
use crate::{ManagerOptions, MemorySessionStorage};

/// A message with an image that goes into the blob store: base64 of 1,200 zero bytes.
fn image() -> String {
    let data = "AAAA".repeat(400);
    format!(r#"{{"role":"assistant","content":[{{"type":"image","mimeType":"image/png","data":"{data}"}}]}}"#)
}

// R51: blobs are files wherever the session is: synced, with their folder, before a flush or a
// rewrite returns. A session in memory touches no other file.
#[test]
fn r51_blobs_of_a_session_in_a_storage_are_synced() {
    let dir = tempfile::tempdir().unwrap();
    let options = ManagerOptions::new().agent_dir(dir.path()).storage(MemorySessionStorage::new());
    let mut manager = options.create("/project").unwrap();
    let synced = |operations: &[Op]| operations.ends_with(&[Op::Sync, Op::SyncDir]);
    faults::plan(None, false);
    manager.append_message(&image()).unwrap();
    let first = faults::end();
    // The first write is one of everything.
    assert!(first.contains(&Op::Rename) && synced(&first), "{first:?}");

    faults::plan(None, false);
    manager.append_message(&image().replace("AAAA", "BBBB")).unwrap();
    let append = faults::end();
    assert!(append.contains(&Op::Rename) && !append.contains(&Op::Sync), "{append:?}");
    faults::plan(None, false);
    manager.flush().unwrap();
    assert_eq!(faults::end(), [Op::Sync, Op::SyncDir]);
    // Once.
    faults::plan(None, false);
    manager.flush().unwrap();
    assert_eq!(faults::end(), []);
}
