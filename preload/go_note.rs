//! The note by which a program that Go has built is known. Compiled into the program and into the preloaded library.

/// Searches for a note with the name `Go` and the type of a build id: the lengths of name and content, the type, the
/// name.
pub(crate) fn has_note_of_go(bytes: &[u8]) -> bool {
    let four = 4_u32.to_ne_bytes();
    bytes.windows(16).any(|note| note[..4] == four && note[8..12] == four && note[12..] == *b"Go\0\0")
}
