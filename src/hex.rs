//! Bytes as text.

/// The lowercase hex digits.
pub(crate) const HEX: &[u8; 16] = b"0123456789abcdef";

/// Two lowercase hex digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(HEX[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn digits() {
        assert_eq!(hex(&[0x00, 0x0f, 0xa5, 0xff]), "000fa5ff");
    }
}
