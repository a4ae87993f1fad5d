//! What the library is measured against: a shallow `serde_json` visitor, and bare reading.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::path::Path;

/// Reads every line with `serde_json`, as far as an index needs it, and keeps nothing. Gives the number of lines
/// with a type.
pub fn shallow_scan(bytes: &[u8]) -> usize {
    let mut count = 0;
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        if let Ok(entry) = serde_json::from_slice::<Entry<'_>>(&bytes[start..end]) {
            count += usize::from(black_box(&entry).type_name.0.is_some());
        }
        start = end + 1;
    }
    count
}

/// Reads the file on `threads` threads in steps of 256 KB, each into one buffer, and looks at nothing.
pub fn read_only(path: &Path, threads: u64) -> io::Result<()> {
    const STEP: u64 = 256 << 10;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let part = |nth: u64| -> io::Result<()> {
        let mut buf = vec![0; STEP as usize];
        let (mut at, end) =
            (length / threads * nth, if nth + 1 == threads { length } else { length / threads * (nth + 1) });
        while at < end {
            let step = STEP.min(end - at) as usize;
            read_exact_at(&file, &mut buf[..step], at)?;
            black_box(&buf);
            at += step as u64;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|nth| scope.spawn(move || part(nth))).collect();
        part(0)?;
        others.into_iter().try_for_each(|other| other.join().expect("reading does not panic"))
    })
}

#[cfg(unix)]
fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    // Regular files give what is asked for.
    std::os::windows::fs::FileExt::seek_read(file, buf, offset).map(drop)
}

/// The members of a line that an index needs; the last of duplicate keys counts.
#[derive(Default)]
struct Entry<'a> {
    type_name: Text<'a>,
    id: Text<'a>,
    parent: Text<'a>,
    timestamp: Text<'a>,
    message: Message<'a>,
}

#[derive(Default)]
struct Message<'a> {
    role: Text<'a>,
}

/// A string; nothing for a value of another type.
#[derive(Default)]
struct Text<'a>(Option<Cow<'a, str>>);

enum Key {
    Type,
    Id,
    Parent,
    Timestamp,
    Message,
    Role,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "type" => Key::Type,
                    "id" => Key::Id,
                    "parentId" => Key::Parent,
                    "timestamp" => Key::Timestamp,
                    "message" => Key::Message,
                    "role" => Key::Role,
                    _ => Key::Other,
                })
            }
        }
        from.deserialize_identifier(Name)
    }
}

impl<'de> Deserialize<'de> for Entry<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Entry<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry<'de>, A::Error> {
                let mut entry = Entry::default();
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::Type => entry.type_name = map.next_value()?,
                        Key::Id => entry.id = map.next_value()?,
                        Key::Parent => entry.parent = map.next_value()?,
                        Key::Timestamp => entry.timestamp = map.next_value()?,
                        Key::Message => entry.message = map.next_value()?,
                        Key::Role | Key::Other => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(entry)
            }
        }
        from.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Message<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Message<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Message<'de>, A::Error> {
                let mut message = Message::default();
                while let Some(key) = map.next_key()? {
                    match key {
                        Key::Role => message.role = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(message)
            }
        }
        from.deserialize_map(Members)
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Text<'de>, E> {
                Ok(Text(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Text<'de>, A::Error> {
                IgnoredAny.visit_seq(seq).map(|_| Text(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text<'de>, A::Error> {
                IgnoredAny.visit_map(map).map(|_| Text(None))
            }
        }
        from.deserialize_any(Any)
    }
}
