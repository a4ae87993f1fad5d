//! Times several jobs in turn, so that a change of the machine's speed meets all of them, and compares them pair by
//! pair.

use std::time::{Duration, Instant};

/// A job and its times, in the order of the rounds.
pub struct Timed<'a> {
    run: Box<dyn FnMut() + 'a>,
    after: Option<Box<dyn FnMut() + 'a>>,
    times: Vec<Duration>,
}

impl<'a> Timed<'a> {
    pub fn new(run: impl FnMut() + 'a) -> Self {
        Self { run: Box::new(run), after: None, times: Vec::new() }
    }

    /// Runs `after` after each run, without counting its time.
    #[allow(dead_code, reason = "not every target has something to clear away")]
    pub fn after(mut self, after: impl FnMut() + 'a) -> Self {
        self.after = Some(Box::new(after));
        self
    }

    /// The median time.
    pub fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2]
    }

    /// The least time: what a machine with nothing else to do would give.
    #[allow(dead_code, reason = "not every target asks for it")]
    pub fn least(&self) -> Duration {
        self.times.iter().copied().min().unwrap_or_default()
    }

    /// This job's time over the other's, round by round.
    pub fn against(&self, other: &Self) -> Ratio {
        let mut ratios: Vec<f64> =
            self.times.iter().zip(&other.times).map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        Ratio { median: ratios[ratios.len() / 2], min: ratios[0], max: ratios[ratios.len() - 1] }
    }
}

/// The ratios of the rounds.
pub struct Ratio {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// Runs all jobs once unmeasured, then `rounds` times in turn.
pub fn interleave(rounds: usize, jobs: &mut [Timed<'_>]) {
    for round in 0..=rounds {
        for job in &mut *jobs {
            let start = Instant::now();
            (job.run)();
            let time = start.elapsed();
            if let Some(after) = &mut job.after {
                after();
            }
            if round > 0 {
                job.times.push(time);
            }
        }
    }
}

/// The heading of a table of ratios.
pub fn heading() {
    println!("{:<26} {:<34} {:>7} {:>15} {:>7}", "what", "against", "ratio", "range", "target");
}

/// A row of it; `target`: the most that the ratio may be.
pub fn row(what: &str, against: &str, ratio: &Ratio, target: Option<f64>) {
    let range = format!("{:.2} to {:.2}", ratio.min, ratio.max);
    let target = target.map_or_else(|| "-".to_owned(), |target| format!("{target:.1}"));
    println!("{what:<26} {against:<34} {:>7.2} {range:>15} {target:>7}", ratio.median);
}
