//! What was simulated, as a table and as a plot.

use std::fmt::Write as _;

use crate::mix::{Mix, Ran};

/// What the paper tells of a hundred servers, in section 6.2 and in its abstract: messages, and
/// about how many seconds.
const TOLD: [(Mix, &[(usize, f64)]); 2] =
    [(Mix::Powermix, &[(256, 5.0), (512, 20.0), (1024, 130.0)]), (Mix::Network, &[(4096, 120.0)])];

fn told(ran: &Ran) -> Option<f64> {
    let (_, points) = TOLD.iter().find(|(mix, _)| *mix == ran.mix)?;
    let point = points.iter().find(|(messages, _)| *messages == ran.messages)?;
    (ran.servers == 100 && ran.dead == 0).then_some(point.1)
}

fn name(mix: Mix) -> &'static str {
    match mix {
        Mix::Powermix => "PowerMix",
        Mix::Network => "network",
    }
}

/// The runs as a table for people.
pub fn table(runs: &[Ran]) -> String {
    let mut text = format!(
        "{:<9} {:>7} {:>5} {:>8} {:>8} {:>10} {:>10} {:>8} {:>9} {:>11} {:>7}\n",
        "mix",
        "servers",
        "dead",
        "messages",
        "openings",
        "network",
        "computing",
        "CPU",
        "MB/server",
        "messages",
        "paper"
    );
    for ran in runs {
        let seconds = |computing: bool| {
            let same = |other: &&Ran| {
                let of = |ran: &Ran| (ran.mix as usize, ran.servers, ran.dead, ran.messages);
                of(other) == of(ran) && other.computing == computing
            };
            runs.iter().find(same)
        };
        let [network, computing] = [false, true].map(seconds);
        // A line for both.
        if ran.computing && network.is_some() {
            continue;
        }
        let shown = |of: Option<f64>| of.map_or_else(|| "–".to_owned(), |s| format!("{s:.2}"));
        let row = format!(
            "{:<9} {:>7} {:>5} {:>8} {:>8} {:>10} {:>10} {:>8} {:>9.2} {:>11} {:>7}",
            name(ran.mix),
            ran.servers,
            ran.dead,
            ran.messages,
            ran.openings,
            shown(network.map(|ran| ran.seconds)),
            shown(computing.map(|ran| ran.seconds)),
            shown(computing.map(|ran| ran.computing_of_server)),
            ran.bytes_of_server as f64 / 1e6,
            ran.sent,
            told(ran).map_or_else(|| "–".to_owned(), |s| format!("~{s}")),
        );
        writeln!(text, "{row}").expect("text can be written to");
    }
    text
}

const SIZE: (f64, f64) = (760.0, 460.0);
/// Left, top, right and bottom of the field.
const FIELD: (f64, f64, f64, f64) = (70.0, 56.0, 560.0, 400.0);
/// Powers of two of messages, and of ten of seconds.
const MESSAGES: (u32, u32) = (6, 12);
const SECONDS: (i32, i32) = (-1, 3);

fn x(messages: usize) -> f64 {
    let part = (messages as f64).log2() - f64::from(MESSAGES.0);
    FIELD.0 + (FIELD.2 - FIELD.0) * part / f64::from(MESSAGES.1 - MESSAGES.0)
}

fn y(seconds: f64) -> f64 {
    let part = seconds.log10() - f64::from(SECONDS.0);
    FIELD.3 - (FIELD.3 - FIELD.1) * part / f64::from(SECONDS.1 - SECONDS.0)
}

/// The runs with a hundred servers that live, seconds over messages, both logarithmic.
pub fn plot(runs: &[Ran]) -> String {
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" aria-label="Seconds that a mix among a hundred servers around the world takes, over the number of messages">
<style>
text {{ font: 13px system-ui, sans-serif; fill: #1d1d1b }}
.title {{ font-size: 17px; font-weight: 600 }}
.grid {{ stroke: #dedacb }}
polyline {{ fill: none; stroke-width: 2 }}
.powermix {{ stroke: #7c2d12; fill: #7c2d12 }} .network {{ stroke: #1f5f8b; fill: #1f5f8b }}
.delay {{ stroke-dasharray: 5 4 }}
.paper {{ fill: #fffdf8; stroke-width: 2 }}
.ground {{ fill: #fffdf8 }}
</style>
<rect class="ground" width="100%" height="100%"/>
<text class="title" x="{}" y="30">A mix among a hundred servers around the world, in virtual time</text>
"##,
        SIZE.0, SIZE.1, FIELD.0
    );
    axes(&mut svg);
    for mix in [Mix::Powermix, Mix::Network] {
        for computing in [false, true] {
            line(&mut svg, runs, mix, computing);
        }
        let class = class_of(mix);
        let (_, points) = TOLD.iter().find(|(of, _)| *of == mix).expect("the paper has both");
        for (messages, seconds) in *points {
            svg += &format!(
                r#"<rect class="{class} paper" x="{:.1}" y="{:.1}" width="9" height="9"/>"#,
                x(*messages) - 4.5,
                y(*seconds) - 4.5
            );
            svg.push('\n');
        }
    }
    legend(&mut svg);
    svg + "</svg>\n"
}

fn class_of(mix: Mix) -> &'static str {
    match mix {
        Mix::Powermix => "powermix",
        Mix::Network => "network",
    }
}

fn axes(svg: &mut String) {
    let (left, top, right, bottom) = FIELD;
    let mut add = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    for power in MESSAGES.0..=MESSAGES.1 {
        let (messages, at) = (1 << power, x(1 << power));
        add(format!(r#"<path class="grid" d="M{at:.1},{top} V{bottom}"/>"#));
        let below = bottom + 20.0;
        add(format!(r#"<text x="{at:.1}" y="{below}" text-anchor="middle">{messages}</text>"#));
    }
    for power in SECONDS.0..=SECONDS.1 {
        let (seconds, at) = (10f64.powi(power), y(10f64.powi(power)));
        add(format!(r#"<path class="grid" d="M{left},{at:.1} H{right}"/>"#));
        let (beside, middle) = (left - 8.0, at + 4.0);
        add(format!(r#"<text x="{beside}" y="{middle:.1}" text-anchor="end">{seconds} s</text>"#));
    }
    let (middle, below) = (f64::midpoint(left, right), bottom + 44.0);
    add(format!(r#"<text x="{middle}" y="{below}" text-anchor="middle">messages</text>"#));
}

fn line(svg: &mut String, runs: &[Ran], mix: Mix, computing: bool) {
    let of = |ran: &&Ran| {
        let whole = ran.servers == 100 && ran.dead == 0;
        whole && ran.mix == mix && ran.computing == computing
    };
    let mut points: Vec<&Ran> = runs.iter().filter(of).collect();
    points.sort_by_key(|ran| ran.messages);
    let at = |ran: &&Ran| format!("{:.1},{:.1}", x(ran.messages), y(ran.seconds));
    let joined = points.iter().map(at).collect::<Vec<_>>().join(" ");
    let (class, delay) = (class_of(mix), if computing { "" } else { " delay" });
    *svg +=
        &format!("<polyline class=\"{class}{delay}\" style=\"fill:none\" points=\"{joined}\"/>\n");
    for ran in points {
        let (x, y) = (x(ran.messages), y(ran.seconds));
        *svg += &format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n");
    }
}

fn legend(svg: &mut String) {
    let left = FIELD.2 + 20.0;
    let entries = [
        ("powermix", "", "PowerMix"),
        ("powermix", " delay", "its network delay"),
        ("network", "", "switching network"),
        ("network", " delay", "its network delay"),
    ];
    let mut top = FIELD.1 + 20.0;
    for (class, delay, words) in entries {
        *svg += &format!(
            "<polyline class=\"{class}{delay}\" points=\"{left},{top} {},{top}\"/>\n",
            left + 28.0
        );
        *svg += &format!("<text x=\"{}\" y=\"{}\">{words}</text>\n", left + 36.0, top + 4.0);
        top += 24.0;
    }
    *svg += &format!(
        "<rect class=\"powermix paper\" x=\"{}\" y=\"{}\" width=\"9\" height=\"9\"/>\n",
        left + 10.0,
        top - 4.5
    );
    *svg += &format!("<text x=\"{}\" y=\"{}\">told by the paper</text>\n", left + 36.0, top + 4.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(messages: usize, computing: bool, seconds: f64) -> Ran {
        Ran {
            mix: Mix::Powermix,
            servers: 100,
            dead: 0,
            messages,
            computing,
            first_seconds: seconds,
            seconds,
            openings: 1,
            sent: 19_800,
            bytes_of_server: 2_000_000,
            computing_of_server: seconds,
        }
    }

    #[test]
    fn a_line_shows_both_and_what_the_paper_tells() {
        let runs = [ran(512, false, 0.5), ran(512, true, 2.25), ran(64, true, 1.5)];
        let table = table(&runs);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(words[3..8], ["512", "1", "0.50", "2.25", "2.25"], "{table}");
        assert_eq!(words[10], "~20");
        assert!(lines[2].contains(" – ") && lines[2].ends_with('–'), "{table}");
    }

    #[test]
    fn a_plot_has_every_point() {
        let svg = plot(&[ran(64, true, 1.5), ran(512, true, 2.25), ran(512, false, 0.5)]);
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("<rect class").count(), 1 + 4 + 1);
        assert!(
            (x(64), x(4096)) == (FIELD.0, FIELD.2) && (y(0.1), y(1000.0)) == (FIELD.3, FIELD.1)
        );
    }
}
