//! A bar on the terminal while something takes long.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Nothing is shown before this.
const PATIENCE: Duration = Duration::from_millis(400);
const BETWEEN: Duration = Duration::from_millis(50);
const CELLS: usize = 30;

/// Draws on the standard error stream when that is a terminal. What was drawn goes when the bar
/// is dropped.
pub struct Bar(Mutex<State>);

struct State {
    on: bool,
    next: Instant,
    drawn: bool,
}

impl Bar {
    pub fn new() -> Self {
        Self(Mutex::new(State { on: io::stderr().is_terminal(), next: Instant::now() + PATIENCE, drawn: false }))
    }

    /// So many of so many are done.
    pub fn tell(&self, done: usize, total: usize) {
        let Ok(mut state) = self.0.lock() else { return };
        let now = Instant::now();
        if !state.on || now < state.next || done >= total {
            return;
        }
        state.next = now + BETWEEN;
        state.drawn = true;
        let full = done * CELLS / total.max(1);
        let (full, rest) = ("#".repeat(full), "-".repeat(CELLS - full));
        let _ = write!(io::stderr(), "\r[{full}{rest}] {done} of {total} files");
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.0.get_mut().is_ok_and(|state| state.drawn) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
