//! Timestamps: ISO 8601 text to milliseconds since 1970 (R4), read as JavaScript's `Date` does.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Milliseconds since 1970-01-01T00:00Z of the text of a timestamp; `None` when it is no date.
pub(crate) fn parse(text: &[u8]) -> Option<i64> {
    usual(text).or_else(|| other(std::str::from_utf8(text).ok()?))
}

/// The text is a moment in the form that [`format()`] gives.
pub(crate) fn is_usual(text: &[u8]) -> bool {
    usual(text).is_some()
}

/// The moments of the years 0 to 9999: their text is in the usual form.
pub(crate) const USUAL: std::ops::Range<i64> = -62_167_219_200_000..253_402_300_800_000;

/// The text of a moment, in milliseconds since 1970, as agents write it: ISO 8601, UTC.
#[must_use]
pub fn format(ms: i64) -> String {
    let mut text = Vec::with_capacity(24);
    push(&mut text, ms);
    String::from_utf8_lossy(&text).into_owned()
}

/// Appends the text of a moment.
pub(crate) fn push(text: &mut Vec<u8>, ms: i64) {
    if !USUAL.contains(&ms) {
        let other = Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |moment| format!("{moment:.3}"));
        text.extend_from_slice(other.as_bytes());
        return;
    }
    let (year, month, day) = civil(ms.div_euclid(86_400_000));
    // None is negative or large; dividing these is cheaper.
    let (year, month, day, of_day) = (year as u32, month as u32, day as u32, ms.rem_euclid(86_400_000) as u32);
    let digit = |number: u32| b'0' + (number % 10) as u8;
    let two = |number: u32| [digit(number / 10), digit(number)];
    let ([a, b], [c, d]) = (two(year / 100), two(year));
    let ([e, f], [g, h]) = (two(month), two(day));
    let ([i, j], [k, l]) = (two(of_day / 3_600_000), two(of_day / 60_000 % 60));
    let ([m, n], [o, p]) = (two(of_day / 1000 % 60), two(of_day % 1000 / 10));
    let q = digit(of_day);
    text.extend_from_slice(&[
        a, b, c, d, b'-', e, f, b'-', g, h, b'T', i, j, b':', k, l, b':', m, n, b'.', o, p, q, b'Z',
    ]);
}

/// A timestamp as it stands in the name of a file.
pub(crate) fn in_file_name(timestamp: &str) -> String {
    timestamp.replace([':', '.'], "-")
}

/// Year, month and day of a day counted from 1970, with years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year + i64::from(month <= 2), month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// `2026-02-16T10:20:30.000Z`, the one form agents write.
fn usual(text: &[u8]) -> Option<i64> {
    let text: &[u8; 24] = text.try_into().ok()?;
    let number = |from: usize, digits: usize| {
        text[from..from + digits].iter().try_fold(0i64, |number, byte| match byte {
            b'0'..=b'9' => Some(number * 10 + i64::from(byte - b'0')),
            _ => None,
        })
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|&(at, mark)| text[at] != mark) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second, ms) = (number(11, 2)?, number(14, 2)?, number(17, 2)?, number(20, 3)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Days since 1970, with years that begin in March so that the leap day comes last.
    let shifted = year - i64::from(month <= 2);
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + ms)
}

/// Any other ISO 8601 form: with an offset; without one, a date is UTC and a time is local.
fn other(text: &str) -> Option<i64> {
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    let zoned = if text.len() == 10 {
        text.parse::<Date>().ok()?.to_zoned_datetime(TimeZone::UTC).ok()?
    } else {
        text.parse::<DateTime>().ok()?.to_zoned_datetime(TimeZone::system()).ok()?
    };
    Some(zoned.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::parse;

    // Values from GNU date: date -u -d TEXT +%s
    #[test]
    fn r4_the_usual_form() {
        assert_eq!(parse(b"1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(parse(b"2026-02-16T10:20:30.000Z"), Some(1_771_237_230_000));
        assert_eq!(parse(b"2024-02-29T23:59:59.999Z"), Some(1_709_251_199_999));
        assert_eq!(parse(b"2000-03-01T00:00:00.001Z"), Some(951_868_800_001));
        assert_eq!(parse(b"1969-12-31T23:59:59.999Z"), Some(-1));
    }

    #[test]
    fn r4_text_of_a_moment() {
        assert_eq!(super::format(1_771_237_230_000), "2026-02-16T10:20:30.000Z");
        assert_eq!(super::format(1_709_251_199_999), "2024-02-29T23:59:59.999Z");
        assert_eq!(super::format(-1), "1969-12-31T23:59:59.999Z");
        // The first and the last moment in this form.
        assert_eq!(super::format(super::USUAL.start), "0000-01-01T00:00:00.000Z");
        assert_eq!(super::format(super::USUAL.end - 1), "9999-12-31T23:59:59.999Z");
        // Every day of 800 years, there and back, and as another library has it.
        for day in -146_097..146_097i64 {
            let ms = day * 86_400_000 + 45_296_789;
            let text = super::format(ms);
            assert_eq!(parse(text.as_bytes()), Some(ms), "{text}");
            assert_eq!(text, format!("{:.3}", jiff::Timestamp::from_millisecond(ms).unwrap()));
        }
    }

    #[test]
    fn other_forms_that_javascript_reads() {
        assert_eq!(parse(b"2026-02-16T10:20:30Z"), Some(1_771_237_230_000));
        assert_eq!(parse(b"2026-02-16T10:20:30+02:00"), Some(1_771_230_030_000));
        assert_eq!(parse(b"2026-02-16T10:20:30.123456Z"), Some(1_771_237_230_123));
        assert_eq!(parse(b"2026-02-16"), Some(1_771_200_000_000));
    }

    #[test]
    fn no_dates() {
        for text in
            ["", "yesterday", "2026-13-01T00:00:00.000Z", "2026-02-30T00:00:00.000Z", "2026-02-16T10:20:3x.000Z"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
