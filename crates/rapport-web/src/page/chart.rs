//! Small charts as inline SVG. Each is a picture with a text alternative: its label, and a table beside it.

use maud::{Markup, html};

/// The size of a chart, in units of its own.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 56.0;

/// One bar for each value; `label` says in words what the picture shows.
pub(crate) fn bars(label: &str, values: &[u64]) -> Markup {
    let most = values.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / values.len().max(1) as f64;
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) preserveAspectRatio="none" {
            line.axis x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
            @for (at, value) in values.iter().enumerate() {
                // A value above zero stays visible, however small it is.
                @let height = if *value == 0 { 0.0 } else { (*value as f64 / most * (HEIGHT - 2.0)).max(1.5) };
                rect.bar x=(number(at as f64 * step + step * 0.1)) y=(number(HEIGHT - height)) width=(number(step * 0.8)) height=(number(height)) {}
            }
        }
    }
}

/// A sum that grows over time, as steps; `points` are the moments and the sums there, in order.
pub(crate) fn growth(label: &str, points: &[(f64, u64)]) -> Markup {
    let (first, last) = (points.first().map_or(0.0, |at| at.0), points.last().map_or(0.0, |at| at.0));
    let most = points.last().map_or(0, |at| at.1).max(1) as f64;
    let x = |at: f64| if last > first { (at - first) / (last - first) * WIDTH } else { WIDTH };
    let y = |sum: u64| HEIGHT - sum as f64 / most * (HEIGHT - 2.0);
    let mut path = format!("M0 {HEIGHT}");
    for (at, sum) in points {
        path.push_str(&format!(" H{} V{}", number(x(*at)), number(y(*sum))));
    }
    path.push_str(&format!(" H{WIDTH} V{HEIGHT} Z"));
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(label) preserveAspectRatio="none" {
            line.axis x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
            path.area d=(path) {}
        }
    }
}

/// A number with one decimal, so that a picture stays small.
fn number(value: f64) -> String {
    let short = format!("{value:.1}");
    short.strip_suffix(".0").map_or(short.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_the_height_of_their_values() {
        let drawn = bars("Two days: $1, $2", &[100, 0, 200]).into_string();
        assert!(drawn.contains("role=\"img\" aria-label=\"Two days: $1, $2\""), "{drawn}");
        assert!(drawn.contains("x=\"8\" y=\"29\" width=\"64\" height=\"27\""), "{drawn}");
        assert!(drawn.contains("y=\"56\" width=\"64\" height=\"0\""), "{drawn}");
        assert!(drawn.contains("y=\"2\" width=\"64\" height=\"54\""), "{drawn}");
        assert!(bars("None", &[]).into_string().contains("<svg"));
    }

    #[test]
    fn a_sum_grows_in_steps() {
        let drawn = growth("Cost", &[(10.0, 1), (20.0, 2)]).into_string();
        assert!(drawn.contains("d=\"M0 56 H0 V29 H240 V2 H240 V56 Z\""), "{drawn}");
        // One report has no duration.
        assert!(growth("Cost", &[(10.0, 1)]).into_string().contains("M0 56 H240 V2 H240"));
    }
}
