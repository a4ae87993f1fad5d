//! What messages say they cost.

use crate::json::Cursor;
use crate::json::cursor::Strings;
use serde::Serialize;
use std::ops::AddAssign;

/// Sums over the `usage` of assistant messages, and over `details.usage` of the results of the
/// tool `task`. A number that is missing counts 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: f64,
    /// Tokens written to the provider's cache.
    pub cache_write: f64,
    /// Requests billed as premium.
    pub premium_requests: f64,
    /// Cost in the provider's currency, US dollars as a rule.
    pub cost: f64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.premium_requests += other.premium_requests;
        self.cost += other.cost;
    }
}

/// Reads the `usage` value at `at`; `usage` is what it says, or nothing when it is no object.
pub(super) fn read<S: Strings>(cursor: &mut Cursor<'_, S>, at: usize, usage: &mut Option<Usage>) -> Option<usize> {
    *usage = None;
    if cursor.bytes.get(at) != Some(&b'{') {
        return cursor.value(at);
    }
    let mut sums = Usage::default();
    let end = cursor.object(at, |cursor, key, at| {
        let field = match &*cursor.name(key) {
            b"input" => &mut sums.input,
            b"output" => &mut sums.output,
            b"cacheRead" => &mut sums.cache_read,
            b"cacheWrite" => &mut sums.cache_write,
            b"premiumRequests" => &mut sums.premium_requests,
            b"cost" => {
                sums.cost = 0.0;
                if cursor.bytes.get(at) != Some(&b'{') {
                    return cursor.value(at);
                }
                return cursor.object(at, |cursor, key, at| {
                    let end = cursor.value(at)?;
                    if &*cursor.name(key) == b"total" {
                        sums.cost = number(&cursor.bytes[at..end]);
                    }
                    Some(end)
                });
            }
            _ => return cursor.value(at),
        };
        let end = cursor.value(at)?;
        *field = number(&cursor.bytes[at..end]);
        Some(end)
    })?;
    *usage = Some(sums);
    Some(end)
}

/// The double nearest to a JSON number; 0 for any other value.
fn number(text: &[u8]) -> f64 {
    // Most are short whole numbers.
    if text.len() <= 15 {
        let mut whole = 0u64;
        let mut others = 0;
        for byte in text {
            let digit = byte ^ b'0';
            others |= u8::from(digit > 9);
            whole = whole * 10 + u64::from(digit);
        }
        if others == 0 {
            #[allow(clippy::cast_precision_loss, reason = "15 digits fit a double exactly")]
            return whole as f64;
        }
    }
    match text.first() {
        Some(b'-' | b'0'..=b'9') => std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0),
        _ => 0.0,
    }
}
