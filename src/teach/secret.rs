//! What nobody can guess: the code of a class, the teacher's link, the cookies of phones.

use std::{
    fs::File,
    io::{self, Read as _},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Characters that are not taken for one another.
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
        // Each character is as likely as any other: what is left over of 256 is drawn again.
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

/// Whether both are the same, in a time that does not tell how far they are.
pub(crate) fn same(given: &str, secret: &str) -> bool {
    given.len() == secret.len() && given.bytes().zip(secret.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}
