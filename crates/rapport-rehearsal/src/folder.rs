//! Where the real CLI keeps the conversations of a directory. The driver implements this rule separately, because a
//! shared implementation would hide a mistake from the contract stories.

/// The CLI's name for the folder of a directory's conversations, as observed with 2.1.325: letters and digits, hyphens
/// for everything else; a long name is cut and gets a checksum. Lengths are in UTF-16 units.
pub(super) fn folder_name(directory: &str) -> String {
    const LONGEST: usize = 200;
    let plain = |unit: u16| {
        let letter = u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric);
        letter.map_or('-', char::from)
    };
    let mut name: String = directory.encode_utf16().map(plain).collect();
    if name.len() > LONGEST {
        let add = |sum: i32, unit: u16| sum.wrapping_mul(31).wrapping_add(unit.into());
        let sum = directory.encode_utf16().fold(0, add);
        name.truncate(LONGEST);
        name = format!("{name}-{}", base_36(sum.unsigned_abs()));
    }
    name
}

fn base_36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}
