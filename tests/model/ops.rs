//! The steps. Numbers choose among what there is when the step is done, so that a sequence stays
//! meaningful when steps before are left out.

use super::item::{Message, RAW};
use proptest::prelude::*;

/// Chooses an entry.
pub type Pick = u8;

#[derive(Clone, Debug)]
pub enum Append {
    Message(Message),
    Thinking(Option<u8>),
    Tier(Option<u8>),
    Mode(u8, Option<u8>),
    Context(u8),
    Model(u8, Option<u8>),
    Init(Option<u8>),
    Custom(Option<u8>),
    CustomMessage(u8, Option<u8>),
    Tools(Vec<u8>),
    Rules(Vec<u8>),
    Label(Pick, Option<u8>),
    Compaction { kept: Pick, own_details: Option<u8>, remote: bool, short: bool },
    Other(u8),
}

#[derive(Clone, Debug)]
pub enum Target {
    /// A session that is there.
    Known(Pick),
    Missing,
    Empty,
    Junk,
    /// A file of version 1 or 2.
    Old(Old),
}

/// A file of version 1 or 2, and what its entries are.
#[derive(Clone, Debug)]
pub struct Old {
    pub version: u8,
    pub entries: Vec<u8>,
}

/// What is in the way of a step.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// Another process holds the lock.
    Locked,
    /// Another process holds the lock of a file that was at the place of the lock file before.
    LockedBefore,
    /// The disk has room for so many bytes of each write.
    Full { room: u16 },
    /// The process is killed at an operation on the file system; a write gets as far as this.
    Killed { at: u8, room: u16 },
}

#[derive(Clone, Debug)]
pub enum Outside {
    /// Appends whole entries.
    Entries(Vec<(Pick, u8)>),
    /// Appends entries on one line. `torn`: a fragment stands in front of one of them, which is the piece of
    /// `Half` where that is there; `trailing`: text stands behind the last, when nothing is torn.
    OneLine {
        entries: Vec<(Pick, u8)>,
        torn: Option<Torn>,
        trailing: u8,
    },
    /// Puts a file in the place of the session that has no newlines in front of some of its entries.
    Joined(Vec<Pick>),
    /// Appends an entry over two lines.
    Spread(Pick, u8),
    /// An entry whose parent is nowhere.
    Orphan,
    /// Two entries that are each other's parents.
    Cycle,
    /// Another entry of an id that is there.
    Duplicate(Pick, Pick, u8),
    /// A title slot: before everything, or at the end.
    Slot {
        title: u8,
        source: u8,
        first: bool,
        /// How long its line is.
        len: u8,
    },
    /// Puts a file of an older version in the place of the session.
    Old(Old),
    /// A line that is no entry.
    Junk(u8),
    /// A piece of an entry, without a newline; the next time the rest.
    Half,
    /// Gives the directory another name, and puts a copy in its place: with locks, and what is in use.
    Restored,
    /// Puts a file in the place of the session, as an editor does that saves by a rename: without some of
    /// its entries, and with other texts for some.
    Replace {
        without: Vec<Pick>,
        changed: Vec<(Pick, Edit)>,
        title: Option<u8>,
    },
    /// Cuts the file in place, after so many lines, and goes on.
    Cut {
        lines: u8,
        half: bool,
    },
    /// Writes over the file in place, as `:w` of vim or `cat >` do; `look`: then texts are read.
    InPlace {
        without: Vec<Pick>,
        changed: Vec<(Pick, Edit)>,
        title: Option<u8>,
        look: bool,
    },
    /// Removes the file.
    Delete,
    /// Deletes the session, which those are told that have it open.
    Deleted,
    LockFile(LockFile),
    Folder(Folder),
}

/// An entry that was not written to its end.
#[derive(Clone, Debug)]
pub struct Torn {
    /// In front of which of the entries it stands.
    pub at: u8,
    pub parent: Pick,
    /// How much of it there is.
    pub len: u8,
    /// The one behind it hangs on it.
    pub is_parent: bool,
}

/// What a person changes of an entry.
#[derive(Clone, Debug)]
pub enum Edit {
    /// When it was made: as long as before.
    Time(u8),
    /// A key of a message, which nothing looks at: as long as before.
    Key,
    /// All of a message.
    Whole(Message),
}

/// What becomes of the lock file of a session.
#[derive(Clone, Copy, Debug)]
pub enum LockFile {
    /// It has another name only.
    Removed,
    /// It gets a second name.
    Linked,
    /// Another file is at its place.
    Replaced,
}

/// What becomes of the folder of a session.
#[derive(Clone, Copy, Debug)]
pub enum Folder {
    /// It has another name for a moment.
    AwayAndBack,
    /// It goes to another name.
    Away,
    Removed,
}

/// `who`: the second manager when it is odd and there is one.
#[derive(Clone, Debug)]
pub enum Op {
    Append(u8, Append),
    Branch(u8, Pick),
    ResetLeaf(u8),
    Summary(u8, Option<Pick>, u8),
    Rename(u8, u8, bool),
    Rewrite(u8, Vec<(Pick, Message)>),
    EnsureOnDisk(u8),
    Flush(u8),
    Close(u8),
    Fork(u8),
    /// Goes on in a copy of a session that is there, in this project.
    ForkFrom(u8, Pick, u8),
    Artifact(u8, u8),
    BranchFile(u8, Pick),
    Move(u8, u8),
    New(u8, bool),
    SetFile(u8, Target),
    Capture(u8),
    Restore(u8),
    /// Drops the manager, closed or not, and opens what it left.
    Reopen {
        who: u8,
        close: bool,
    },
    Second,
    DropSecond,
    Outside(Outside),
    Under(Trouble, Box<Op>),
}

fn raw() -> impl Strategy<Value = u8> {
    0..RAW.len() as u8
}

prop_compose! {
    fn message()(
        role in 0u8..6,
        text in raw(),
        extra in raw(),
        image in prop::option::weighted(0.15, prop_oneof![700u16..900, 800u16..3000]),
        partial in prop::bool::weighted(0.15),
        long in prop::bool::weighted(0.02),
        payload in prop::bool::weighted(0.15),
        usage in prop::option::weighted(0.3, 0u8..50),
        model in prop::option::weighted(0.3, 0u8..4),
    ) -> Message {
        Message { role, text, extra, image, partial, long, payload, usage, model }
    }
}

fn append() -> impl Strategy<Value = Append> {
    let some = |most: u8| prop::option::of(0..most);
    prop_oneof![
        10 => message().prop_map(Append::Message),
        1 => some(3).prop_map(Append::Thinking),
        1 => some(3).prop_map(Append::Tier),
        1 => (0u8..3, prop::option::of(raw())).prop_map(|(mode, data)| Append::Mode(mode, data)),
        1 => (0u8..3).prop_map(Append::Context),
        1 => (0u8..4, some(3)).prop_map(|(model, role)| Append::Model(model, role)),
        1 => prop::option::of(raw()).prop_map(Append::Init),
        1 => prop::option::of(raw()).prop_map(Append::Custom),
        2 => (raw(), prop::option::of(raw())).prop_map(|(content, details)| Append::CustomMessage(content, details)),
        1 => prop::collection::vec(0u8..6, 0..3).prop_map(Append::Tools),
        1 => prop::collection::vec(0u8..6, 0..3).prop_map(Append::Rules),
        3 => (any::<u8>(), some(4)).prop_map(|(target, label)| Append::Label(target, label)),
        2 => (any::<u8>(), prop::option::of(raw()), prop::bool::weighted(0.2), any::<bool>())
            .prop_map(|(kept, own_details, remote, short)| Append::Compaction { kept, own_details, remote, short }),
        1 => raw().prop_map(Append::Other),
    ]
}

fn outside() -> impl Strategy<Value = Outside> {
    prop_oneof![
        4 => prop::collection::vec((any::<u8>(), raw()), 1..4).prop_map(Outside::Entries),
        1 => Just(Outside::Orphan),
        2 => (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(id, parent, raw)| Outside::Duplicate(id, parent, raw)),
        2 => (0u8..6, 0u8..3, any::<bool>(), 0u8..4)
            .prop_map(|(title, source, first, len)| Outside::Slot { title, source, first, len }),
        6 => (prop::collection::vec((any::<u8>(), raw()), 1..4), prop::option::of(torn()), 0u8..6)
            .prop_map(|(entries, torn, trailing)| Outside::OneLine { entries, torn, trailing }),
        2 => prop::collection::vec(any::<u8>(), 1..4).prop_map(Outside::Joined),
        2 => (any::<u8>(), raw()).prop_map(|(parent, raw)| Outside::Spread(parent, raw)),
        1 => old().prop_map(Outside::Old),
        1 => Just(Outside::Cycle),
        2 => (0u8..12).prop_map(Outside::Junk),
        2 => Just(Outside::Half),
        2 => Just(Outside::Restored),
        3 => (prop::collection::vec(any::<u8>(), 0..3), edits(), prop::option::of(0u8..6))
            .prop_map(|(without, changed, title)| Outside::Replace { without, changed, title }),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(lines, half)| Outside::Cut { lines, half }),
        2 => Just(Outside::Delete),
        8 => (prop::collection::vec(any::<u8>(), 0..2), edits(), prop::option::weighted(0.2, 0u8..6), any::<bool>())
            .prop_map(|(without, changed, title, look)| Outside::InPlace { without, changed, title, look }),
        2 => Just(Outside::Deleted),
        2 => prop_oneof![
            Just(LockFile::Removed),
            Just(LockFile::Linked),
            Just(LockFile::Replaced),
        ].prop_map(Outside::LockFile),
        2 => prop_oneof![Just(Folder::AwayAndBack), Just(Folder::Away), Just(Folder::Removed)]
            .prop_map(Outside::Folder),
    ]
}

prop_compose! {
    fn torn()(at in 0u8..3, parent: u8, len: u8, is_parent: bool) -> Torn {
        Torn { at, parent, len, is_parent }
    }
}

fn edits() -> impl Strategy<Value = Vec<(Pick, Edit)>> {
    // Images and long texts are for who writes through the library.
    let plain = |message| Message { image: None, partial: false, long: false, ..message };
    let edit = prop_oneof![
        any::<u8>().prop_map(Edit::Time),
        Just(Edit::Key),
        message().prop_map(move |message| Edit::Whole(plain(message))),
    ];
    prop::collection::vec((any::<u8>(), edit), 0..3)
}

fn old() -> impl Strategy<Value = Old> {
    (1u8..3, prop::collection::vec(any::<u8>(), 0..5)).prop_map(|(version, entries)| Old { version, entries })
}

fn trouble() -> impl Strategy<Value = Trouble> {
    prop_oneof![
        2 => Just(Trouble::Locked),
        1 => Just(Trouble::LockedBefore),
        2 => (0u16..400).prop_map(|room| Trouble::Full { room }),
        3 => (0u8..24, 0u16..700).prop_map(|(at, room)| Trouble::Killed { at, room }),
    ]
}

fn who() -> impl Strategy<Value = u8> {
    0u8..2
}

/// A step that writes.
fn write() -> impl Strategy<Value = Op> {
    let pick = any::<u8>;
    prop_oneof![
        24 => (who(), append()).prop_map(|(who, append)| Op::Append(who, append)),
        2 => (who(), prop::option::of(pick()), 0u8..3).prop_map(|(who, at, text)| Op::Summary(who, at, text)),
        3 => (who(), 0u8..6, any::<bool>()).prop_map(|(who, name, user)| Op::Rename(who, name, user)),
        3 => (who(), prop::collection::vec((pick(), message()), 0..3)).prop_map(|(who, to)| Op::Rewrite(who, to)),
        2 => who().prop_map(Op::EnsureOnDisk),
        3 => who().prop_map(Op::Flush),
        2 => who().prop_map(Op::Close),
        1 => who().prop_map(Op::Fork),
        2 => (who(), pick()).prop_map(|(who, at)| Op::BranchFile(who, at)),
        2 => (who(), 0u8..3).prop_map(|(who, to)| Op::Move(who, to)),
        1 => (who(), any::<bool>()).prop_map(|(who, parent)| Op::New(who, parent)),
        1 => (who(), pick()).prop_map(|(who, at)| Op::SetFile(who, Target::Known(at))),
    ]
}

pub fn op() -> impl Strategy<Value = Op> {
    let pick = any::<u8>;
    prop_oneof![
        44 => write(),
        5 => (trouble(), write()).prop_map(|(trouble, op)| Op::Under(trouble, Box::new(op))),
        4 => (who(), pick()).prop_map(|(who, at)| Op::Branch(who, at)),
        1 => who().prop_map(Op::ResetLeaf),
        1 => (who(), pick(), 0u8..3).prop_map(|(who, at, to)| Op::ForkFrom(who, at, to)),
        1 => (who(), any::<u8>()).prop_map(|(who, content)| Op::Artifact(who, content)),
        2 => (who(), target()).prop_map(|(who, target)| Op::SetFile(who, target)),
        2 => who().prop_map(Op::Capture),
        2 => who().prop_map(Op::Restore),
        3 => (who(), any::<bool>()).prop_map(|(who, close)| Op::Reopen { who, close }),
        4 => Just(Op::Second),
        1 => Just(Op::DropSecond),
        8 => outside().prop_map(Op::Outside),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        4 => any::<u8>().prop_map(Target::Known),
        1 => Just(Target::Missing),
        1 => Just(Target::Empty),
        1 => Just(Target::Junk),
        1 => old().prop_map(Target::Old),
    ]
}
