//! Times several jobs in turn, so that a change of the machine's speed meets all of them, and compares them pair by
//! pair.

use std::time::{Duration, Instant};

/// A job and its times, in the order of the rounds.
pub struct Timed<'a> {
    run: Box<dyn FnMut() + 'a>,
    times: Vec<Duration>,
}

impl<'a> Timed<'a> {
    pub fn new(run: impl FnMut() + 'a) -> Self {
        Self { run: Box::new(run), times: Vec::new() }
    }

    /// The median time.
    pub fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2]
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
            if round > 0 {
                job.times.push(time);
            }
        }
    }
}
