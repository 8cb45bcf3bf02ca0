//! Tests of the palettes: every text must be readable, and clients must stay distinguishable for colour-blind eyes.
//! Luminance and contrast are those of WCAG 2.2; colour blindness is simulated with the matrices of Machado, Oliveira
//! and Fernandes (2009) at full severity; distances are CIE76 in CIELAB, where about 2.3 is just noticeable.

use super::{
    Palette, Role,
    palette::{CONTRAST, DARK, LIGHT},
};

const PALETTES: [Palette; 3] = [DARK, LIGHT, CONTRAST];

type Rgb = [f64; 3];

/// Normal sight, protanopia, deuteranopia, tritanopia.
const EYES: [[Rgb; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ],
    [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ],
    [
        [1.255_528, -0.076_749, -0.178_779],
        [-0.078_411, 0.930_809, 0.147_602],
        [0.004_733, 0.691_367, 0.303_900],
    ],
];

/// The linear light of one of the colours 16 to 255, as xterm defines them.
fn light(index: u8) -> Rgb {
    let channels: [u8; 3] = if index >= 232 {
        [8 + 10 * (index - 232); 3]
    } else {
        let levels = [0, 95, 135, 175, 215, 255];
        let cube = usize::from(index - 16);
        [levels[cube / 36], levels[cube / 6 % 6], levels[cube % 6]]
    };
    channels.map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

fn luminance([r, g, b]: Rgb) -> f64 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn contrast(one: u8, other: u8) -> f64 {
    let (one, other) = (luminance(light(one)), luminance(light(other)));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn lab(rgb: Rgb) -> Rgb {
    const XYZ: [Rgb; 3] = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
    const WHITE: Rgb = [0.95047, 1.0, 1.08883];
    let [x, y, z] = [0, 1, 2]
        .map(|row| {
            let value: f64 = (0..3).map(|n| XYZ[row][n] * rgb[n].clamp(0.0, 1.0)).sum();
            value / WHITE[row]
        })
        .map(|value| if value > 0.008_856 { value.cbrt() } else { 7.787 * value + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The distance of two colours for the given eyes.
fn distance(eyes: &[Rgb; 3], one: u8, other: u8) -> f64 {
    let [one, other] = [one, other].map(|index| {
        let rgb = light(index);
        lab([0, 1, 2].map(|row| (0..3).map(|column| eyes[row][column] * rgb[column]).sum()))
    });
    (0..3).map(|n| (one[n] - other[n]).powi(2)).sum::<f64>().sqrt()
}

/// The distance of two colours for the eyes that distinguish them worst.
fn apart(one: u8, other: u8) -> f64 {
    EYES.iter().map(|eyes| distance(eyes, one, other)).fold(f64::INFINITY, f64::min)
}

#[test]
fn every_text_can_be_read_on_its_ground() {
    for palette in PALETTES {
        let least = if palette == CONTRAST { 7.0 } else { 4.5 };
        let roles = [Role::Chrome, Role::Accent, Role::Code, Role::Good, Role::Warning, Role::Danger];
        for role in roles {
            let ink = palette.ink(role).unwrap();
            let found = contrast(ink, palette.ground);
            assert!(found >= least, "{palette:?} {role:?}: {found:.2}");
        }
        assert!(contrast(palette.text, palette.ground) >= 10.0, "{palette:?}");
        assert!(contrast(palette.text, palette.alarm) >= 7.0, "{palette:?}: text on alarm");
        assert!(contrast(palette.selected.0, palette.selected.1) >= 4.5, "{palette:?}: selected");
        // Clients are drawn as bars and bold names: WCAG requires 3 for graphics and large text.
        for client in palette.clients {
            let found = contrast(client, palette.ground);
            assert!(found >= 3.0, "{palette:?} client {client}: {found:.2}");
            let label = contrast(client, palette.on_client);
            assert!(label >= 3.5, "{palette:?} label of client {client} on red: {label:.2}");
            // In the other themes, what clients say is written with the ink of texts where the ground is red.
            let name = contrast(client, palette.alarm);
            assert!(palette != DARK || name >= 3.0, "{palette:?} client {client} on red: {name:.2}");
        }
    }
}

#[test]
fn clients_stay_apart_for_colour_blind_eyes() {
    for palette in PALETTES {
        let clients = palette.clients;
        for (n, one) in clients.iter().enumerate() {
            for other in &clients[..n] {
                // On a light ground, orange and yellow are both dark and thus closer to each other.
                let least = if n < 4 && palette != LIGHT { 20.0 } else { 15.0 };
                let found = apart(*one, *other);
                assert!(found >= least, "{palette:?} {one} and {other}: {found:.1}");
            }
        }
    }
}

#[test]
fn the_distance_reflects_colour_blindness() {
    // Red and green of equal lightness: far apart for normal sight, close for deuteranopes.
    let apart = |n: usize| distance(&EYES[n], 131, 65);
    assert!(apart(0) > 2.0 * apart(2));
}
