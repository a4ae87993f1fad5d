//! The block classifier: where a line's strings begin and end, 64 bytes at a time.
//!
//! One pass over a line finds every quote that no backslash escapes, finds the newline that ends
//! the line, and says whether the line is *clean*: no control character in it and no escape
//! other than those of JSON. The grammar ([`super::cursor`]) then jumps from quote to quote. A
//! line that is not clean is left to the scalar string reader there, so what stands here may be
//! wrong in one direction only: it must never call an invalid line clean.
//!
//! This is the only module of the core with `unsafe` code: the vector instructions. AVX2 is used
//! where the processor says at run time that it has it and the instructions that go with it, SSE2
//! elsewhere on x86-64, and a portable version, which has nothing unsafe, on other machines.
#![allow(unsafe_code)]

/// What one line's bytes are, but for its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Index of the newline that ends the line, or the length of the buffer when there is none.
    pub(crate) end: usize,
    /// No control character before `end`, and every backslash begins a JSON escape.
    pub(crate) clean: bool,
    /// The line has a `\uXXXX` escape, so that a key or value may be spelled in more than one way.
    pub(crate) unicode_escapes: bool,
}

/// A way to classify lines that this machine can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Classifier {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Sse2,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::HasAvx2),
}

impl Classifier {
    /// The fastest one.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        return x86::HasAvx2::detect().map_or(Self::Sse2, Self::Avx2);
        #[cfg(not(target_arch = "x86_64"))]
        Self::Portable
    }

    /// Every one, with its name: tests and benchmarks compare them.
    pub(crate) fn all() -> Vec<(&'static str, Self)> {
        let mut all = vec![("portable", Self::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            all.push(("sse2", Self::Sse2));
            all.extend(x86::HasAvx2::detect().map(|has| ("avx2", Self::Avx2(has))));
        }
        all
    }

    /// Classifies the line that starts at `start`; `quotes` receives one bit per byte, the first for
    /// `buf[start]`, set at each quote that is not escaped. Bits at and after the end are zero.
    #[inline]
    pub(crate) fn classify(self, buf: &[u8], start: usize, quotes: &mut Vec<u64>) -> Line {
        match self {
            Self::Portable => classify::<Portable>(buf, start, quotes, ()),
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 => x86::sse2(buf, start, quotes),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(has) => x86::avx2(buf, start, quotes, has),
        }
    }
}

/// Sixty-four bytes, and the questions asked of them. Bit `i` of an answer is byte `i`.
trait Block: Copy {
    /// Asking costs less than a branch that is hard to predict.
    const VECTOR: bool = true;
    /// What shows that the processor has what the implementation uses.
    type Proof: Copy;
    fn load(bytes: &[u8; 64], proof: Self::Proof) -> Self;
    /// Asks for the memory some way ahead, which may be past the end of the buffer.
    #[inline(always)]
    fn prefetch(_from: &[u8; 64]) {}
    /// Bytes equal to `byte`.
    fn eq(self, byte: u8) -> u64;
    /// Bytes below 0x20.
    fn control(self) -> u64;
}

/// Bytes that may follow a backslash.
const fn is_escape(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'u')
}

/// The loop that every classifier is an instance of. Always inlined, so that the intrinsics of
/// `B` end up in a function that enables them.
#[inline(always)]
fn classify<B: Block>(buf: &[u8], start: usize, quotes: &mut Vec<u64>, proof: B::Proof) -> Line {
    quotes.clear();
    let mut clean = true;
    let mut unicode_escapes = false;
    // Bit 0: the first byte of the next block is escaped by the last of this one.
    let mut escaped_carry = 0u64;
    let mut at = start;
    loop {
        let tail;
        let bytes = match buf[at..].first_chunk() {
            Some(bytes) => bytes,
            None => {
                // The end of the buffer is seen as a newline.
                let mut copy = [b'\n'; 64];
                copy[..buf.len() - at].copy_from_slice(&buf[at..]);
                tail = copy;
                &tail
            }
        };
        let block = B::load(bytes, proof);
        B::prefetch(bytes);
        let raw_quotes = block.eq(b'"');
        let backslashes = block.eq(b'\\');
        let control = block.control();
        // Without a branch on whether there are backslashes: in text every other block has some.
        let (escaped, carry) = escaped_bytes(backslashes, escaped_carry);
        escaped_carry = carry;
        // Most escapes are \n, \", \\ and \t; the rest is looked at one by one.
        let common =
            if B::VECTOR || escaped != 0 { raw_quotes | backslashes | block.eq(b'n') | block.eq(b't') } else { 0 };
        let mut rest = escaped & !common;
        while rest != 0 {
            let i = at + rest.trailing_zeros() as usize;
            rest &= rest - 1;
            // The newline or carriage return that ends the line is no escape either. Bytes after it
            // are looked at too: they can only make the line unclean.
            let byte = buf.get(i).copied().unwrap_or(b'\n');
            clean &= is_escape(byte);
            if byte == b'u' {
                unicode_escapes = true;
                clean &= buf.get(i + 1..i + 5).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
            }
        }
        let open = raw_quotes & !escaped;
        if control == 0 {
            quotes.push(open);
            at += 64;
            continue;
        }
        // The first newline ends the line; another control character before it is not clean.
        let newlines = block.eq(b'\n');
        if newlines == 0 {
            clean = false;
            quotes.push(open);
            at += 64;
            continue;
        }
        let line = below_first(newlines);
        let end = at + newlines.trailing_zeros() as usize;
        // A carriage return right before the newline is white space wherever it stands.
        let carriage_return =
            if end > at && buf[end - 1] == b'\r' { (newlines & newlines.wrapping_neg()) >> 1 } else { 0 };
        clean &= control & line & !carriage_return == 0;
        quotes.push(open & line);
        return Line { end, clean, unicode_escapes };
    }
}

/// All bits below the lowest set one; all bits when there is none.
#[inline(always)]
const fn below_first(bits: u64) -> u64 {
    if bits == 0 { u64::MAX } else { (bits & bits.wrapping_neg()) - 1 }
}

/// Which bytes a backslash escapes, and the carry into the next block. In a run of backslashes
/// the first escapes the second, the third the fourth; the last of an odd run escapes the byte
/// after it. So the escaped bytes of a run that starts at an even place are at odd places, and
/// the other way round.
#[inline(always)]
const fn escaped_bytes(backslashes: u64, carry: u64) -> (u64, u64) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    // A backslash that is escaped itself starts nothing.
    let backslashes = backslashes & !carry;
    let starts = backslashes & !(backslashes << 1);
    // Adding a run's start to it carries through the run and clears it.
    let in_even_runs = backslashes & !backslashes.wrapping_add(starts & EVEN);
    let in_odd_runs = backslashes & !in_even_runs;
    let escaped = in_even_runs << 1 & !EVEN | in_odd_runs << 1 & EVEN | carry;
    (escaped, (backslashes & !escaped) >> 63)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Block, Line, classify};
    use std::arch::x86_64::{
        __m128i, __m256i, _MM_HINT_T0, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_prefetch,
        _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
    };

    /// Bytes in memory that were not read lately come faster when they are asked for early.
    #[inline(always)]
    fn prefetch(from: &[u8; 64]) {
        // SAFETY: SSE is part of x86-64; a prefetch reads nothing and faults nowhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_add(2048).cast()) };
    }

    #[derive(Clone, Copy)]
    struct Sse2([__m128i; 4]);

    #[inline(always)]
    fn mask128(lanes: [__m128i; 4]) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        let [a, b, c, d] = lanes.map(|lane| u64::from(unsafe { _mm_movemask_epi8(lane) } as u32));
        a | b << 16 | c << 32 | d << 48
    }

    impl Block for Sse2 {
        /// Every x86-64 has SSE2.
        type Proof = ();

        #[inline(always)]
        fn load(bytes: &[u8; 64], (): ()) -> Self {
            // SAFETY: four unaligned loads of 16 bytes from 64.
            unsafe {
                let from = bytes.as_ptr().cast::<__m128i>();
                Self([
                    _mm_loadu_si128(from),
                    _mm_loadu_si128(from.add(1)),
                    _mm_loadu_si128(from.add(2)),
                    _mm_loadu_si128(from.add(3)),
                ])
            }
        }

        #[inline(always)]
        fn prefetch(from: &[u8; 64]) {
            prefetch(from);
        }

        #[inline(always)]
        fn eq(self, byte: u8) -> u64 {
            let [a, b, c, d] = self.0;
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                let want = _mm_set1_epi8(byte as i8);
                mask128([
                    _mm_cmpeq_epi8(a, want),
                    _mm_cmpeq_epi8(b, want),
                    _mm_cmpeq_epi8(c, want),
                    _mm_cmpeq_epi8(d, want),
                ])
            }
        }

        #[inline(always)]
        fn control(self) -> u64 {
            let [a, b, c, d] = self.0;
            // SAFETY: SSE2 is part of x86-64.
            unsafe {
                let top = _mm_set1_epi8(0x1f);
                mask128([
                    _mm_cmpeq_epi8(_mm_min_epu8(a, top), a),
                    _mm_cmpeq_epi8(_mm_min_epu8(b, top), b),
                    _mm_cmpeq_epi8(_mm_min_epu8(c, top), c),
                    _mm_cmpeq_epi8(_mm_min_epu8(d, top), d),
                ])
            }
        }
    }

    #[derive(Clone, Copy)]
    struct Avx2([__m256i; 2]);

    /// The processor has everything that [`avx2_enabled`] enables. Only [`HasAvx2::detect`] makes one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct HasAvx2(());

    impl HasAvx2 {
        pub(super) fn detect() -> Option<Self> {
            let has = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            has.then_some(Self(()))
        }
    }

    impl Block for Avx2 {
        type Proof = HasAvx2;

        #[inline(always)]
        fn load(bytes: &[u8; 64], _: HasAvx2) -> Self {
            // SAFETY: two unaligned loads of 32 bytes from 64; the processor has AVX2.
            unsafe {
                let from = bytes.as_ptr().cast::<__m256i>();
                Self([_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))])
            }
        }

        #[inline(always)]
        fn prefetch(from: &[u8; 64]) {
            prefetch(from);
        }

        #[inline(always)]
        fn eq(self, byte: u8) -> u64 {
            let [a, b] = self.0;
            // SAFETY: a value of this type exists only where the processor has AVX2.
            unsafe {
                let want = _mm256_set1_epi8(byte as i8);
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(a, want)) as u32;
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(b, want)) as u32;
                u64::from(low) | u64::from(high) << 32
            }
        }

        #[inline(always)]
        fn control(self) -> u64 {
            let [a, b] = self.0;
            // SAFETY: a value of this type exists only where the processor has AVX2.
            unsafe {
                let top = _mm256_set1_epi8(0x1f);
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(a, top), a)) as u32;
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b, top), b)) as u32;
                u64::from(low) | u64::from(high) << 32
            }
        }
    }

    pub(super) fn sse2(buf: &[u8], start: usize, quotes: &mut Vec<u64>) -> Line {
        classify::<Sse2>(buf, start, quotes, ())
    }

    pub(super) fn avx2(buf: &[u8], start: usize, quotes: &mut Vec<u64>, has: HasAvx2) -> Line {
        // SAFETY: the processor has what the function enables: `has` says so.
        unsafe { avx2_enabled(buf, start, quotes, has) }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn avx2_enabled(buf: &[u8], start: usize, quotes: &mut Vec<u64>, has: HasAvx2) -> Line {
        classify::<Avx2>(buf, start, quotes, has)
    }
}

/// Eight bytes at a time, for machines without a vector version here.
#[derive(Clone, Copy)]
struct Portable([u64; 8]);

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// One bit a byte, from the high bits of eight bytes.
#[inline(always)]
const fn gather(high_bits: u64) -> u64 {
    // Multiplying moves bit 8i to bit 56 + i; no two products meet.
    (high_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

impl Portable {
    #[inline(always)]
    fn map(self, high_bits: impl Fn(u64) -> u64) -> u64 {
        let mut mask = 0;
        for (i, word) in self.0.into_iter().enumerate() {
            mask |= gather(high_bits(word)) << (8 * i);
        }
        mask
    }
}

impl Block for Portable {
    const VECTOR: bool = false;
    type Proof = ();

    #[inline(always)]
    fn load(bytes: &[u8; 64], (): ()) -> Self {
        let mut words = [0; 8];
        for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*chunk);
        }
        Self(words)
    }

    #[inline(always)]
    fn eq(self, byte: u8) -> u64 {
        self.map(|word| {
            let x = word ^ (LOW * u64::from(byte));
            // The high bit of each byte that is zero, exactly: no borrow between bytes.
            !(((x & !HIGH) + !HIGH) | x) & HIGH
        })
    }

    #[inline(always)]
    fn control(self) -> u64 {
        // Below 0x20: adding 0x60 leaves the high bit clear, and it was clear before.
        self.map(|word| !((word & !HIGH) + LOW * 0x60) & !word & HIGH)
    }
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
