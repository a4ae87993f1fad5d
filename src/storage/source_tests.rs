use super::{Source, Window};
use crate::error::ErrorCode;
use std::io::Write as _;

fn file(text: &[u8]) -> (tempfile::NamedTempFile, Source) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let source = Source::open(file.path()).unwrap();
    (file, source)
}

/// Bytes in which every place can be told.
fn counted(len: usize) -> Vec<u8> {
    (0..len.div_ceil(4)).flat_map(|number| (number as u32).to_be_bytes()).take(len).collect()
}

#[test]
fn a_file_and_bytes_read_the_same() {
    let bytes = counted(10_000);
    let (_kept, from_file) = file(&bytes);
    for source in [Source::Bytes(bytes.clone()), from_file] {
        assert_eq!(source.len(), 10_000);
        for (offset, len) in [(0, 0), (0, 1), (0, 10_000), (9_999, 1), (10_000, 0), (1234, 4321)] {
            assert_eq!(*source.read(offset as u64, len).unwrap(), bytes[offset..offset + len]);
            let mut buf = vec![0; len];
            source.read_exact_at(&mut buf, offset as u64).unwrap();
            assert_eq!(buf, bytes[offset..offset + len]);
        }
    }
}

#[test]
fn a_window_gives_any_span_in_any_order() {
    let bytes = counted(1_500_000);
    let (_kept, from_file) = file(&bytes);
    for source in [Source::Bytes(bytes.clone()), from_file] {
        let mut window = Window::new(&source);
        let mut check = |offset: usize, len: usize| {
            assert_eq!(window.get(offset as u64, len).unwrap(), &bytes[offset..offset + len], "{offset} {len}");
        };
        // Forwards in small and large steps, again, backwards, across the window's end, all of it.
        (0..1_500_000).step_by(1000).for_each(|offset| check(offset, 1000));
        (0..1_500_000).step_by(1000).rev().for_each(|offset| check(offset, 700));
        for (offset, len) in [
            (0, 0),
            (0, 4096),
            (4095, 2),
            (4000, 300_000),
            (299_999, 2),
            (1_499_999, 1),
            (1_500_000, 0),
            (0, 1_500_000),
            (7, 1),
        ] {
            check(offset, len);
        }
        let mut state = 3u32;
        for _ in 0..2000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let offset = (state >> 8) as usize % 1_499_000;
            check(offset, (state & 0xff) as usize);
        }
    }
}

// A replaced file stays what it was; one that grows does not.
#[test]
fn a_file_that_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    std::fs::write(&path, "before").unwrap();
    let source = Source::open(&path).unwrap();
    std::fs::write(dir.path().join("b"), "after!").unwrap();
    std::fs::rename(dir.path().join("b"), &path).unwrap();
    assert_eq!(*source.read(0, 6).unwrap(), *b"before");
    let (mut kept, source) = file(b"12345");
    kept.write_all(b"678").unwrap();
    assert_eq!((source.len(), &*source.read(0, 5).unwrap()), (5, &b"12345"[..]));
}

// What is gone is an error; what is still there can be read.
#[test]
fn a_file_cut_short() {
    let bytes = counted(20_000);
    let (kept, source) = file(&bytes);
    kept.as_file().set_len(10_000).unwrap();
    let gone = source.read(9_999, 2).unwrap_err();
    assert_eq!((gone.code(), gone.path()), (ErrorCode::FileChanged, Some(kept.path())));
    assert_eq!(*source.read(9_000, 1000).unwrap(), bytes[9_000..10_000]);
    let mut window = Window::new(&source);
    // The window reads ahead, into what is gone; the span itself is there.
    for offset in (0..10_000).step_by(500) {
        assert_eq!(window.get(offset as u64, 500).unwrap(), &bytes[offset..offset + 500], "{offset}");
    }
    assert_eq!(window.get(9_800, 500).unwrap_err().code(), ErrorCode::FileChanged);
    assert_eq!(window.get(100, 500).unwrap(), &bytes[100..600]);
}

#[test]
fn paths_that_cannot_be_opened() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Source::open(dir.path()).unwrap_err().code(), ErrorCode::IsADirectory);
    assert_eq!(Source::open(&dir.path().join("none")).unwrap_err().code(), ErrorCode::NotFound);
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(Source::open(&file).unwrap().len(), 0);
    assert_eq!(Source::open(&file.join("below")).unwrap_err().path(), Some(&*file.join("below")));
}

// A pipe has no positions: it is read to its end.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe() {
    use std::os::fd::AsRawFd as _;
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"through a pipe").unwrap();
    drop(writer);
    let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
    if !std::path::Path::new(&path).exists() {
        crate::support::skip(format_args!("no /proc here"));
        return;
    }
    let source = Source::open(path.as_ref()).unwrap();
    assert!(matches!(source, Source::Bytes(_)));
    assert_eq!(*source.read(10, 4).unwrap(), *b"pipe");
}
