//! JSON on its way to the engine.

use napi::{Env, JsString};
use serde::Serialize;

/// Appends JSON text with one byte a character. Only strings hold other characters, and there an
/// escape says the same; bytes that are not UTF-8 become U+FFFD.
pub(crate) fn push(out: &mut Vec<u8>, mut json: &[u8]) {
    while let Some(at) = first_not_ascii(json) {
        let (ascii, rest) = json.split_at(at);
        let (others, rest) = rest.split_at(rest.iter().position(u8::is_ascii).unwrap_or(rest.len()));
        out.extend_from_slice(ascii);
        for chunk in others.utf8_chunks() {
            for unit in chunk.valid().encode_utf16() {
                match u8::try_from(unit) {
                    Ok(byte) => out.push(byte),
                    Err(_) => escape(out, unit),
                }
            }
            if !chunk.invalid().is_empty() {
                escape(out, 0xfffd);
            }
        }
        json = rest;
    }
    out.extend_from_slice(json);
}

fn first_not_ascii(text: &[u8]) -> Option<usize> {
    const STEP: usize = 32;
    let steps = text.chunks_exact(STEP).take_while(|step| step.is_ascii()).count() * STEP;
    text[steps..].iter().position(|byte| !byte.is_ascii()).map(|at| steps + at)
}

fn escape(out: &mut Vec<u8>, unit: u16) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\u");
    out.extend([12, 8, 4, 0].map(|shift| HEX[usize::from(unit >> shift & 15)]));
}

/// Gives the engine JSON text.
pub(crate) fn give<'env>(env: &'env Env, json: &[u8]) -> napi::Result<JsString<'env>> {
    if json.is_ascii() {
        return string(env, json);
    }
    let mut text = Vec::with_capacity(json.len() + json.len() / 8);
    push(&mut text, json);
    string(env, &text)
}

/// Gives the engine a string of one byte a character.
pub(crate) fn string<'env>(env: &'env Env, text: &[u8]) -> napi::Result<JsString<'env>> {
    env.create_string_latin1(text).map_err(|error| {
        let what = format!("the engine takes no string of {} characters", text.len());
        napi::Error::new(error.status, what)
    })
}

/// Gives the engine a value as JSON text.
pub(crate) fn give_value<'env>(env: &'env Env, value: &impl Serialize) -> napi::Result<JsString<'env>> {
    give(env, &serde_json::to_vec(value).map_err(|error| napi::Error::from_reason(error.to_string()))?)
}
