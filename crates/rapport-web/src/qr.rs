//! An address as a QR code of characters, for a terminal.

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

/// The lines of the picture, dark on light where the terminal is dark. Empty if the text is too long for a code.
pub fn picture(text: &str) -> Vec<String> {
    let Ok(code) = QrCode::new(text.as_bytes()) else { return Vec::new() };
    let drawn = code
        .render::<Dense1x2>()
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark)
        .quiet_zone(true)
        .build();
    drawn.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_fits_a_terminal() {
        let lines = picture("https://rapport.example:8443/pair?code=ABCDEFGH2345");
        assert!((10..30).contains(&lines.len()), "{}", lines.len());
        let width = lines[0].chars().count();
        assert!(width < 60 && lines.iter().all(|line| line.chars().count() == width));
        assert!(picture(&"x".repeat(10_000)).is_empty());
    }
}
