//! The operations on the file system that writing a session is made of, one function each.
//!
//! Every one of them passes [`step`] first: in tests a step can be told to fail, so that a script
//! of operations can be cut at each of them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

/// What tells one file from another, and whether it grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// When the file was made, in nanoseconds since 1970: a later file may get the same inode.
    /// `None` on a file system that does not say.
    pub(crate) born: Option<i64>,
    pub(crate) len: u64,
}

impl Identity {
    /// Both are of one file, which may have changed between them.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        let file = |of: &Self| (of.device, of.inode, of.born);
        file(self) == file(other)
    }
}

/// Opens a file for reading and for appending; with `create` it is made when it is missing, for
/// its owner only (R55).
pub(crate) fn open_append(path: &Path, create: bool) -> io::Result<File> {
    step(Op::Open)?;
    private(OpenOptions::new().read(true).append(true).create(create)).open(path)
}

/// Makes a new file, for its owner only (R55); fails when there is something at the path. What is
/// written to it goes to its end.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    step(Op::Create)?;
    private(OpenOptions::new().read(true).append(true).create_new(true)).open(path)
}

/// A new file without a name, for reading and writing; `None` where the system has none.
pub(crate) fn unnamed() -> Option<io::Result<File>> {
    if !cfg!(unix) {
        return None;
    }
    let path = std::env::temp_dir().join(format!("leaflog-{}-{:016x}", std::process::id(), crate::random::number()));
    Some(create_new(&path).and_then(|file| unlink(&path).map(|()| file)))
}

/// Opens a lock file, making it when it is missing. A link in its place is an error: the file would
/// be made where the link leads.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    step(Op::Open)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    no_follow(&mut options);
    private(&mut options).open(path)
}

/// Opens a hidden file of ours for reading and writing; with `create` it is made when it is missing. A
/// link in its place is an error.
pub(crate) fn open_hidden(path: &Path, create: bool) -> io::Result<File> {
    step(Op::Hidden)?;
    let mut options = OpenOptions::new();
    no_follow(options.read(true).write(true).create(create).truncate(false));
    private(&mut options).open(path)
}

fn no_follow(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    #[cfg(not(unix))]
    let _ = options;
}

/// Whether the file at `path`, links not followed, is the one that is open. A file that was removed,
/// replaced or renamed, alone or with its directory, is not.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let key = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let there = std::fs::symlink_metadata(path).map(key).ok();
        there.is_some() && file.metadata().map(key).ok() == there
    }
    // An open file can be neither removed nor renamed there.
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Whether there is anything at `path`, links not followed. What cannot be looked at may be there.
pub(crate) fn is_there(path: &Path) -> bool {
    !matches!(std::fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
}

/// Opens a plain file for reading. Anything else is an error, and is not opened: a pipe would be
/// waited for, a device may have no end.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    plain(&std::fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // It may have become a pipe since.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path)?;
    plain(&file.metadata()?)?;
    Ok(file)
}

/// An error for what is not a plain file.
pub(crate) fn plain(metadata: &std::fs::Metadata) -> io::Result<()> {
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no plain file")),
    }
}

/// Reads all of a plain file.
pub(crate) fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Makes a folder and those above it, for their owner only (R55). They would survive a power cut:
/// what is in a folder does so only with the folder's name.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    step(Op::CreateDir)?;
    let missing: Vec<&Path> = path.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).collect();
    if missing.is_empty() {
        // `mkdir` would say of a file that it exists, which is not what is wrong with it.
        return if path.is_dir() { Ok(()) } else { Err(not_a_directory()) };
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    for made in missing {
        match sync_dir(dir_of(made)) {
            // A folder one may write to, but not read, cannot be synced.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            result => result?,
        }
    }
    Ok(())
}

fn not_a_directory() -> io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::NOTDIR.into();
    #[cfg(not(unix))]
    io::ErrorKind::NotADirectory.into()
}

/// The folder a path is in.
pub(crate) fn dir_of(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path with links followed, also those that lead to nothing yet.
pub(crate) fn followed(path: &Path) -> std::path::PathBuf {
    let mut path = path.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        match (std::fs::canonicalize(&path), std::fs::read_link(&path)) {
            (Ok(found), _) => return found,
            (Err(_), Ok(target)) => path = path.parent().unwrap_or(Path::new("")).join(target),
            (Err(_), Err(_)) => break,
        }
    }
    path
}

/// One `write` of all of `bytes`. When it fails or writes less, `Err` says how much was written, and
/// why: what the system says to a `write` of the rest, which it may also accept.
pub(crate) fn write_once(file: &File, bytes: &[u8]) -> Result<(), (io::Error, usize)> {
    let allowed = write_step(bytes.len()).map_err(|error| (error, 0))?;
    let mut written = write_some(file, &bytes[..allowed]).map_err(|error| (error, 0))?;
    if allowed < bytes.len() {
        return Err((io::ErrorKind::StorageFull.into(), written));
    }
    while written < bytes.len() {
        let more = past_limit(file).map_or_else(|| write_some(file, &bytes[written..]), Err);
        written += more.map_err(|error| (error, written))?;
    }
    Ok(())
}

fn write_some(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) if !bytes.is_empty() => return Err(io::ErrorKind::WriteZero.into()),
            result => return result,
        }
    }
}

/// What the next `write` to a file would say that has all the bytes this process may write to one
/// (`RLIMIT_FSIZE`): it is not asked, since it also sends a signal, which ends most processes.
fn past_limit(file: &File) -> Option<io::Error> {
    #[cfg(unix)]
    {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize).current?;
        (file.metadata().ok()?.len() >= limit).then(|| rustix::io::Errno::FBIG.into())
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

/// Where the last write to a file that is open for appending ended.
pub(crate) fn end_of_write(mut file: &File) -> io::Result<u64> {
    if cfg!(unix) { file.stream_position() } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// Writes all of `bytes` to a file nobody else sees yet.
pub(crate) fn write_all(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    let allowed = write_step(bytes.len())?;
    file.write_all(&bytes[..allowed])?;
    if allowed < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
}

/// Starts writing a span that is complete to the disk, so that there is less to wait for when the
/// file is synced. Only that: whether it was done does not matter.
pub(crate) fn start_write_back(file: &File, span: std::ops::Range<u64>) {
    #[cfg(target_os = "linux")]
    if step(Op::WriteBack).is_ok()
        && let Some(len) = std::num::NonZero::new(span.end - span.start)
    {
        // Linux begins with writing the span, and drops only pages that are on disk already.
        let _: rustix::io::Result<()> = rustix::fs::fadvise(file, span.start, Some(len), rustix::fs::Advice::DontNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, span);
}

/// Closes the handles of a file of `len` bytes that was replaced. With the last one the system
/// frees it, which for a large one takes a third of the time of writing it: nobody has to wait for
/// that.
pub(crate) fn let_go(handles: impl Send + 'static, len: u64) {
    const LARGE: u64 = 16 << 20;
    if len >= LARGE {
        // Without another thread it is done here.
        let _: io::Result<_> = std::thread::Builder::new().spawn(move || drop(handles));
    }
}

/// Cuts a file to `len` bytes.
pub(crate) fn truncate(file: &File, len: u64) -> io::Result<()> {
    step(Op::Truncate)?;
    file.set_len(len)
}

/// Waits until a file's bytes would survive a power cut.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    step(Op::Sync)?;
    file.sync_all()
}

/// Waits until the names in a folder would survive a power cut.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    step(Op::SyncDir)?;
    #[cfg(unix)]
    match File::open(path)?.sync_all() {
        // A file system that syncs no folders keeps names in its own way.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
        result => result?,
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Gives a plain file a second name, which nothing may have yet. Where the file system cannot, or `from`
/// is a link, the file is copied.
pub(crate) fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    // A second name of a link would be a link, which need not lead anywhere from there.
    if std::fs::symlink_metadata(from)?.is_file() {
        match step(Op::Create).and_then(|()| std::fs::hard_link(from, to)) {
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {}
            result => return result,
        }
    }
    copy_plain(from, to)
}

/// Copies a plain file to a path that nothing has yet.
pub(crate) fn copy_plain(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = open_plain(from)?;
    let mut target = create_new(to)?;
    step(Op::Write)?;
    io::copy(&mut source, &mut target).map(drop)
}

/// The entries of a directory, all of them or an error.
pub(crate) fn read_dir(path: &Path) -> io::Result<Vec<std::fs::DirEntry>> {
    step(Op::ReadDir)?;
    std::fs::read_dir(path)?.collect()
}

/// Puts `from` in the place of `to`.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step(Op::Rename)?;
    std::fs::rename(from, to)
}

/// Gives `from` the name `to`, unless there is something of that name; says whether it did.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<bool> {
    step(Op::Rename)?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) => return Ok(false),
            // Not every file system and kernel can.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // A second name is never that of something else; directories can have none.
    match std::fs::hard_link(from, to) {
        Ok(()) => return std::fs::remove_file(from).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    if is_there(to) {
        return Ok(false);
    }
    std::fs::rename(from, to).map(|()| true)
}

/// Copies a plain file to a new one, which would survive a power cut.
pub(crate) fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    copy_plain(from, to)?;
    let copy = File::open(to)?;
    copy.set_permissions(std::fs::metadata(from)?.permissions())?;
    sync(&copy)
}

/// Removes a directory; fails when anything is in it.
pub(crate) fn remove_empty_dir(path: &Path) -> io::Result<()> {
    step(Op::Hidden)?;
    std::fs::remove_dir(path)
}

/// Removes a directory and everything in it.
pub(crate) fn remove_dir_all(path: &Path) -> io::Result<()> {
    step(Op::Unlink)?;
    std::fs::remove_dir_all(path)
}

/// Removes a file.
pub(crate) fn unlink(path: &Path) -> io::Result<()> {
    step(Op::Unlink)?;
    std::fs::remove_file(path)
}

/// What came of trying to lock a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryLock {
    Taken,
    /// Another has it.
    Busy,
    /// The file system has no locks.
    NoLocks,
}

/// Tries to lock a file.
pub(crate) fn try_lock(file: &File) -> io::Result<TryLock> {
    try_lock_with(Op::Lock, file, File::try_lock)
}

/// The same of a hidden file, where it is no error that it fails.
pub(crate) fn try_lock_hidden(file: &File) -> io::Result<TryLock> {
    try_lock_with(Op::Hidden, file, File::try_lock)
}

/// The same, as one of several that may have it.
pub(crate) fn try_share_hidden(file: &File) -> io::Result<TryLock> {
    try_lock_with(Op::Hidden, file, File::try_lock_shared)
}

/// Adds to a hidden file.
pub(crate) fn append_hidden(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    step(Op::Hidden)?;
    file.seek(io::SeekFrom::End(0))?;
    file.write_all(bytes)
}

/// Gives a hidden file another name.
pub(crate) fn rename_hidden(from: &Path, to: &Path) -> io::Result<()> {
    step(Op::Hidden)?;
    std::fs::rename(from, to)
}

/// Removes a hidden file.
pub(crate) fn unlink_hidden(path: &Path) -> io::Result<()> {
    step(Op::Hidden)?;
    std::fs::remove_file(path)
}

fn try_lock_with(op: Op, file: &File, lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<TryLock> {
    loop {
        return match step(op).map_err(TryLockError::Error).and_then(|()| lock(file)) {
            Ok(()) => Ok(TryLock::Taken),
            Err(TryLockError::WouldBlock) => Ok(TryLock::Busy),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(TryLockError::Error(error)) if means_no_locks(&error) => Ok(TryLock::NoLocks),
            Err(TryLockError::Error(error)) => Err(error),
        };
    }
}

/// There is no such operation, or, on a network file system, no server that locks.
fn means_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let none = [Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP, Errno::NOLCK];
        if Errno::from_io_error(error).is_some_and(|error| none.contains(&error)) {
            return true;
        }
    }
    error.kind() == io::ErrorKind::Unsupported
}

/// Identity of the file at `path`; `None` when there is none.
///
/// Asked before every append, so only for what is needed: asking for the time of the last change
/// as well makes the next write cost more.
pub(crate) fn identity(path: &Path) -> io::Result<Option<Identity>> {
    step(Op::Stat)?;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
        match statx(CWD, path, AtFlags::empty(), StatxFlags::SIZE | StatxFlags::INO | StatxFlags::BTIME) {
            Ok(stat) => {
                let has_born = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
                return Ok(Some(Identity {
                    device: makedev(stat.stx_dev_major, stat.stx_dev_minor),
                    inode: stat.stx_ino,
                    born: has_born.then(|| nanoseconds(stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec.into())),
                    len: stat.stx_size,
                }));
            }
            Err(error) if error == rustix::io::Errno::NOENT => return Ok(None),
            // An old kernel has no such call.
            Err(error) if error == rustix::io::Errno::NOSYS => {}
            Err(error) => return Err(error.into()),
        }
    }
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(identity_in(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Identity of an open file.
pub(crate) fn identity_of(file: &File) -> io::Result<Identity> {
    file.metadata().map(|metadata| identity_in(&metadata))
}

/// Identity of an open file, and when it was changed last, in nanoseconds since 1970.
pub(crate) fn state_of(file: &File) -> io::Result<(Identity, i64)> {
    let metadata = file.metadata()?;
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt as _;
        nanoseconds(metadata.ctime(), metadata.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed = metadata.modified().map_or(0, since_1970);
    Ok((identity_in(&metadata), changed))
}

/// The time on the clock that files get theirs from, in nanoseconds since 1970.
pub(crate) fn clock() -> i64 {
    since_1970(std::time::SystemTime::now())
}

fn since_1970(time: std::time::SystemTime) -> i64 {
    let nanos = |span: std::time::Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(std::time::UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(before) => -nanos(before.duration()),
    }
}

#[cfg(unix)]
fn nanoseconds(seconds: i64, more: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(more)
}

fn identity_in(metadata: &std::fs::Metadata) -> Identity {
    #[cfg(unix)]
    let (device, inode) = {
        use std::os::unix::fs::MetadataExt as _;
        (metadata.dev(), metadata.ino())
    };
    // Without inodes a file that was replaced is told by when it was made, by its length and by what it holds.
    #[cfg(not(unix))]
    let (device, inode) = (0, 0);
    Identity { device, inode, born: metadata.created().ok().map(since_1970), len: metadata.len() }
}

/// Asks for the space a file will take, so that a full disk is noticed early and the file is laid
/// out in one piece. A file system that cannot is no error.
pub(crate) fn reserve(file: &File, len: u64) -> io::Result<()> {
    step(Op::Reserve)?;
    #[cfg(target_os = "linux")]
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, len) {
        Err(error) if error == rustix::io::Errno::NOSPC => return Err(error.into()),
        _ => {}
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, len);
    Ok(())
}

/// A kind of operation, as tests name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    Open,
    Create,
    CreateDir,
    ReadDir,
    Write,
    Truncate,
    Sync,
    SyncDir,
    Rename,
    Unlink,
    Stat,
    Reserve,
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing starts it there"))]
    WriteBack,
    Lock,
    /// Anything with a hidden file that is only a help.
    Hidden,
}

#[cfg(not(any(test, fuzzing)))]
#[inline(always)]
pub(crate) fn step(_op: Op) -> io::Result<()> {
    Ok(())
}

#[cfg(not(any(test, fuzzing)))]
#[inline(always)]
fn write_step(len: usize) -> io::Result<usize> {
    step(Op::Write).map(|()| len)
}

#[cfg(any(test, fuzzing))]
pub(crate) use faults::step;
#[cfg(any(test, fuzzing))]
use faults::write_step;

/// Failing on purpose, for this thread.
#[cfg(any(test, fuzzing))]
pub mod faults {
    use super::Op;
    use std::cell::RefCell;
    use std::io;

    /// What happens at the chosen step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(not(test), allow(dead_code, reason = "for unit tests"))]
    pub(crate) enum Fault {
        /// The operation fails and does nothing.
        Fails,
        /// A write stops after this many bytes; any other operation fails.
        StopsAfter(usize),
        /// The same as `Fails`, with another error than that of a full disk.
        Errno(i32),
    }

    impl Fault {
        fn error(self) -> io::Error {
            match self {
                Self::Errno(number) => io::Error::from_raw_os_error(number),
                _ => io::ErrorKind::StorageFull.into(),
            }
        }
    }

    #[derive(Default)]
    struct Plan {
        steps: Vec<Op>,
        /// The step that fails, counted from 0, and all after it when `stays` is set.
        at: Option<(usize, Fault)>,
        stays: bool,
        /// Only writes fail.
        only_writes: bool,
        /// No write gets anywhere after the first that fails.
        killed: bool,
        /// Every step of this kind fails.
        every: Option<(Op, Fault)>,
        /// So many reads succeed before one fails.
        reads: Option<usize>,
    }

    thread_local! {
        static PLAN: RefCell<Plan> = RefCell::default();
    }

    /// Counts steps from 0 again; the step `at` will fail, and with `stays` all after it.
    pub(crate) fn plan(at: Option<(usize, Fault)>, stays: bool) {
        PLAN.with_borrow_mut(|plan| *plan = Plan { at, stays, ..Plan::default() });
    }

    /// Nothing reaches the disk from the step `at` on; a write there gets as far as `room` bytes.
    pub fn kill(at: usize, room: usize) {
        plan(Some((at, Fault::StopsAfter(room))), true);
        PLAN.with_borrow_mut(|plan| plan.killed = true);
    }

    /// Each write stops after `room` bytes.
    pub fn full_disk(room: usize) {
        plan(Some((0, Fault::StopsAfter(room))), true);
        PLAN.with_borrow_mut(|plan| plan.only_writes = true);
    }

    /// Counts steps from 0 again; every step of this kind will fail.
    pub(crate) fn plan_every(op: Op, fault: Fault) {
        PLAN.with_borrow_mut(|plan| *plan = Plan { every: Some((op, fault)), ..Plan::default() });
    }

    /// Counts steps from 0 again; after so many reads one will fail.
    #[cfg(test)]
    pub(crate) fn plan_read(at: usize) {
        PLAN.with_borrow_mut(|plan| *plan = Plan { reads: Some(at), ..Plan::default() });
    }

    /// A read of a session, which is not a step.
    pub(in crate::storage) fn read() -> io::Result<()> {
        PLAN.with_borrow_mut(|plan| match plan.reads {
            Some(0) => {
                plan.reads = None;
                Err(Fault::Errno(5).error())
            }
            Some(left) => {
                plan.reads = Some(left - 1);
                Ok(())
            }
            None => Ok(()),
        })
    }

    /// The steps since the last plan; no step fails from here on.
    pub fn end() -> Vec<Op> {
        PLAN.with_borrow_mut(|plan| std::mem::take(plan).steps)
    }

    fn fault(op: Op) -> Option<Fault> {
        PLAN.with_borrow_mut(|plan| {
            let step = plan.steps.len();
            plan.steps.push(op);
            if let Some((_, fault)) = plan.every.filter(|(every, _)| *every == op) {
                return Some(fault);
            }
            let (at, fault) = plan.at?;
            let is_meant = op == Op::Write || !plan.only_writes;
            let fault = if plan.killed && step > at { Fault::Fails } else { fault };
            (is_meant && (step == at || plan.stays && step > at)).then_some(fault)
        })
    }

    pub(crate) fn step(op: Op) -> io::Result<()> {
        match fault(op) {
            None => Ok(()),
            Some(fault) => Err(fault.error()),
        }
    }

    pub(super) fn write_step(len: usize) -> io::Result<usize> {
        match fault(Op::Write) {
            None => Ok(len),
            Some(Fault::StopsAfter(most)) => Ok(most.min(len.saturating_sub(1))),
            Some(fault) => Err(fault.error()),
        }
    }
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
