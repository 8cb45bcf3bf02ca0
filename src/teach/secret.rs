//! Secrets that cannot be guessed: the code of a class, the teacher's link, the cookies of phones.

use std::{
    fs::File,
    io::{self, Read as _},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Characters that are not easily confused.
const CODE: &[u8; 31] = b"23456789ABCDEFGHJKMNPQRSTUVWXYZ";
pub(crate) const CODE_LENGTH: usize = 6;

fn draw<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn code() -> io::Result<String> {
    let mut code = String::new();
    while code.len() < CODE_LENGTH {
        let [byte] = draw::<1>()?;
        // Rejection sampling, so that all characters are equally likely.
        if usize::from(byte) < 256 / CODE.len() * CODE.len() {
            code.push(CODE[usize::from(byte) % CODE.len()].into());
        }
    }
    Ok(code)
}

pub(crate) fn secret() -> io::Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(draw::<16>()?))
}

pub(crate) fn cookie() -> io::Result<u128> {
    Ok(u128::from_ne_bytes(draw()?))
}

/// Compares two secrets in constant time.
pub(crate) fn same(given: &str, secret: &str) -> bool {
    given.len() == secret.len() && given.bytes().zip(secret.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
