//! The store's hash check, and which strings are references (R51, R52).

use super::{Blob, BlobHash, BlobStore, Form, references};
use crate::error::ErrorCode;
use crate::json::apply;
use crate::storage::disk::{Op, faults};

/// `printf hello | sha256sum`
const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
/// `printf '' | sha256sum`
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn hash(digits: &str) -> BlobHash {
    BlobHash::from_reference(&format!("blob:sha256:{digits}")).unwrap()
}

// R51: reading checks the hash.
#[test]
fn the_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = BlobStore::new(dir.path());
    assert_eq!(store.dir(), dir.path());
    assert_eq!((store.get(&hash(HELLO)).unwrap(), store.has(&hash(HELLO))), (Blob::Missing, false));
    std::fs::write(dir.path().join(HELLO), "hello").unwrap();
    std::fs::write(dir.path().join(EMPTY), "").unwrap();
    assert_eq!((store.get(&hash(HELLO)).unwrap(), store.has(&hash(HELLO))), (Blob::Found(b"hello".to_vec()), true));
    assert_eq!(store.get(&hash(EMPTY)).unwrap(), Blob::Found(Vec::new()));
    for damage in ["hell", "hello\n", "Hello", ""] {
        std::fs::write(dir.path().join(HELLO), damage).unwrap();
        assert_eq!((store.get(&hash(HELLO)).unwrap(), store.has(&hash(HELLO))), (Blob::Damaged, true));
    }
}

// R51: what is there is not written again, and what a power cut left of it is.
#[test]
#[cfg(unix)]
fn putting() {
    let dir = tempfile::tempdir().unwrap();
    let store = BlobStore::new(dir.path().join("blobs"));
    assert_eq!(store.put(b"hello").unwrap(), hash(HELLO));
    let inode =
        || std::fs::metadata(store.path(&hash(HELLO))).map(|it| std::os::unix::fs::MetadataExt::ino(&it)).unwrap();
    let first = inode();
    store.put(b"hello").unwrap();
    assert_eq!(inode(), first);
    for damage in ["", "hell", "Hello"] {
        std::fs::write(store.path(&hash(HELLO)), damage).unwrap();
        store.put(b"hello").unwrap();
        assert_eq!(store.get(&hash(HELLO)).unwrap(), Blob::Found(b"hello".to_vec()), "{damage:?}");
    }
    assert_eq!(std::fs::read_dir(store.dir()).unwrap().count(), 1);
}

// R51: a pipe of a blob's name is no blob. It is not waited for, and the blob takes its place.
#[test]
#[cfg(unix)]
fn a_pipe_is_no_blob() {
    let dir = tempfile::tempdir().unwrap();
    let store = BlobStore::new(dir.path());
    let path = store.path(&hash(HELLO));
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!((store.get(&hash(HELLO)).unwrap(), store.has(&hash(HELLO))), (Blob::Missing, false));
    store.put(b"hello").unwrap();
    assert_eq!(store.get(&hash(HELLO)).unwrap(), Blob::Found(b"hello".to_vec()));
}

// R51: a caller's blob is synced, and its name; also one that is there: it may have been put just now.
#[test]
fn putting_waits_for_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let store = BlobStore::new(dir.path());
    for last in [&[Op::Sync, Op::Rename, Op::SyncDir][..], &[Op::Sync, Op::SyncDir]] {
        faults::plan(None, false);
        store.put(b"hello").unwrap();
        assert!(faults::end().ends_with(last));
    }
}

// R51, F27: whatever stands where the blob should be, the session stays usable.
#[test]
fn stores_that_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = BlobStore::new(dir.path().join("none/deeper"));
    assert_eq!((nowhere.get(&hash(HELLO)).unwrap(), nowhere.has(&hash(HELLO))), (Blob::Missing, false));
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let in_file = BlobStore::new(&file);
    assert_eq!((in_file.get(&hash(HELLO)).unwrap(), in_file.has(&hash(HELLO))), (Blob::Missing, false));
    let store = BlobStore::new(dir.path());
    std::fs::create_dir(dir.path().join(HELLO)).unwrap();
    assert_eq!((store.get(&hash(HELLO)).unwrap(), store.has(&hash(HELLO))), (Blob::Missing, false));
}

// A11: a store that is a file is not "there already": it is not a directory, and the message names it.
// A put that fails leaves nothing.
#[cfg(unix)]
#[test]
fn a11_a_store_that_is_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("blobs");
    std::fs::write(&file, "x").unwrap();
    let error = BlobStore::new(&file).put(b"hello").unwrap_err();
    // ENOTDIR is 20.
    assert_eq!((error.code(), error.os_errno(), error.path()), (ErrorCode::Io, Some(20), Some(&*file)));
    assert!(error.message().starts_with("cannot make the blob store: Not a directory"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"x");

    let store = BlobStore::new(dir.path().join("store"));
    std::fs::create_dir(store.dir()).unwrap();
    for op in [Op::Create, Op::Write, Op::Sync, Op::Rename] {
        faults::plan_every(op, faults::Fault::StopsAfter(2));
        let error = store.put(b"hello").unwrap_err();
        faults::end();
        assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*store.path(&hash(HELLO)))), "{op:?}");
        assert_eq!(std::fs::read_dir(store.dir()).unwrap().count(), 0, "{op:?}");
    }
}

// An error that is none of these names the blob's file.
#[cfg(unix)]
#[test]
fn a_blob_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(HELLO);
    std::os::unix::fs::symlink(&path, &path).unwrap();
    let error = BlobStore::new(dir.path()).get(&hash(HELLO)).unwrap_err();
    assert_eq!((error.code(), error.path()), (ErrorCode::Io, Some(&*path)));
}

// R51: exactly this form; nothing else can name a file.
#[test]
fn hashes() {
    assert_eq!(hash(HELLO).as_str(), HELLO);
    let wrong = [
        HELLO.to_owned(),
        format!("blob:sha256:{}", &HELLO[1..]),
        format!("blob:sha256:{HELLO}0"),
        format!("blob:sha256:{}", HELLO.to_uppercase()),
        format!("Blob:sha256:{HELLO}"),
        format!("blob:sha512:{HELLO}"),
        format!("blob:sha256:{HELLO}\n"),
        format!(" blob:sha256:{HELLO}"),
        format!("blob:sha256:{}g", &HELLO[1..]),
        format!("blob:sha256:{}", "../".repeat(21) + "x"),
        format!("blob:sha256:/{}", &HELLO[1..]),
        format!("blob:sha256:{}é", &HELLO[2..]),
        "blob:sha256:".to_owned(),
        String::new(),
    ];
    for text in wrong {
        assert_eq!(BlobHash::from_reference(&text), None, "{text}");
    }
}

/// The references of a text in which `@` stands for one, as `form` and what stands at its span.
fn found(text: &str) -> Vec<(Form, usize)> {
    let reference = format!("\"blob:sha256:{HELLO}\"");
    let text = text.replace('@', &reference);
    references(text.as_bytes())
        .into_iter()
        .map(|found| {
            assert_eq!(text[found.span.clone()], reference);
            (found.form, text[..found.span.start].matches(&reference).count())
        })
        .collect()
}

// R52 (a), (b): `data` of an object that is an image by type or mime type, in any order of keys.
#[test]
fn data_of_images() {
    use Form::Base64;
    for text in [
        r#"{"type":"image","data":@}"#,
        r#"{"data":@,"type":"image"}"#,
        r#"{"data":@,"mimeType":"image/png"}"#,
        r#"{"mimeType":"image/","data":@}"#,
        r#"{"type":"x","mimeType":"image/png","data":@}"#,
        r#"[[{"content":[[{"type":"image","data":@}]]}]]"#,
        r#"{"a":{"b":[{"type":"im\u0061ge","d\u0061ta":@}]}}"#,
        r#"{"type":"image","data":@,"source":{"type":"text","data":"x"}}"#,
        r#"{"type":"text","type":"image","data":"old","data":@}"#,
    ] {
        assert_eq!(found(text), [(Base64, 0)], "{text}");
    }
    for text in [
        "@",
        "[@]",
        r#"{"data":@}"#,
        r#"{"type":"text","data":@}"#,
        r#"{"type":"Image","data":@}"#,
        r#"{"type":"image","type":"text","data":@}"#,
        r#"{"type":"image","data":@,"data":"new"}"#,
        r#"{"type":"image","data":@,"data":{}}"#,
        r#"{"type":"image","text":@}"#,
        r#"{"type":"image","data":[@]}"#,
        r#"{"type":"image","data":{"data":@}}"#,
        r#"{"type":"image","source":{"data":@}}"#,
        r#"{"mimeType":"text/png","data":@}"#,
        r#"{"mimeType":"image","data":@}"#,
        r#"{"mimeType":["image/png"],"data":@}"#,
        r#"{"type":"text","text":@}"#,
        r#"{"content":@}"#,
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

// R52 (c): under `image_url`, or `url` directly inside it.
#[test]
fn image_urls() {
    use Form::Text;
    for text in [
        r#"{"image_url":@}"#,
        r#"{"image_url":{"url":@}}"#,
        r#"{"image_url":{"detail":"low","url":@}}"#,
        r#"{"im\u0061ge_url":{"\u0075rl":@}}"#,
        r#"[{"a":{"image_url":@}}]"#,
    ] {
        assert_eq!(found(text), [(Text, 0)], "{text}");
    }
    for text in [
        r#"{"url":@}"#,
        r#"{"image_url":[@]}"#,
        r#"{"image_url":[{"url":@}]}"#,
        r#"{"image_url":{"x":{"url":@}}}"#,
        r#"{"image_url":{"href":@}}"#,
        r#"{"image_url":@,"image_url":"x"}"#,
        r#"{"imageUrl":@}"#,
    ] {
        assert_eq!(found(text), [], "{text}");
    }
    let all = r#"{"image_url":@,"b":[{"data":@,"type":"image"},{"image_url":{"url":@}},{"text":@}]}"#;
    assert_eq!(found(all), [(Text, 0), (Form::Base64, 1), (Text, 2)]);
}

// R51: a reference spelled with escapes is one; one that is longer, shorter or cut is not.
#[test]
fn spelled_references() {
    let escaped: String = format!("blob:sha256:{HELLO}").chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let text = format!(r#"{{"image_url":"{escaped}"}}"#);
    let all = references(text.as_bytes());
    assert_eq!((all.len(), &all[0].hash), (1, &hash(HELLO)));
    assert_eq!(&text[all[0].span.clone()], format!("\"{escaped}\""));
    for wrong in [format!("blob:sha256:{HELLO}0"), format!("{escaped}\\u0030"), "x".repeat(500), String::new()] {
        assert!(references(format!(r#"{{"image_url":"{wrong}"}}"#).as_bytes()).is_empty());
    }
}

// R36, R52: (a) and (b) come back as base64, (c) as its text. `printf hello | base64`
#[test]
fn resolved() {
    let resolve = |text: &str, blob: &[u8]| {
        let text = text.replace('@', &format!("\"blob:sha256:{HELLO}\""));
        let edits = references(text.as_bytes()).into_iter().map(|reference| reference.resolve(blob)).collect();
        String::from_utf8(apply(text.as_bytes(), edits)).unwrap()
    };
    assert_eq!(
        resolve(r#"{"type":"image", "data": @ ,"x":1e2}"#, b"hello"),
        r#"{"type":"image", "data": "aGVsbG8=" ,"x":1e2}"#
    );
    assert_eq!(resolve(r#"{"type":"image","data":@}"#, b""), r#"{"type":"image","data":""}"#);
    assert_eq!(resolve(r#"{"type":"image","data":@}"#, b"\xff\xfe"), r#"{"type":"image","data":"//4="}"#);
    assert_eq!(
        resolve(r#"{"image_url":{"url":@},"b":{"image_url":@}}"#, b"data:image/png;base64,aGVsbG8="),
        r#"{"image_url":{"url":"data:image/png;base64,aGVsbG8="},"b":{"image_url":"data:image/png;base64,aGVsbG8="}}"#
    );
    assert_eq!(resolve(r#"{"image_url":@}"#, b"\"\n"), r#"{"image_url":"\"\n"}"#);
}

// R49: however deep.
#[test]
fn a_deep_reference() {
    let text = "{\"content\":[".repeat(50_000) + "{\"type\":\"image\",\"data\":@}" + &"]}".repeat(50_000);
    assert_eq!(found(&text), [(Form::Base64, 0)]);
}
