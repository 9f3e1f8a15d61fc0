//! `rapport serve` and `doctor` know channels by their kinds: which ones are configured, and which one is meant.

use crate::support::project::Project;

#[test]
fn without_a_channel_it_says_how_to_configure_one() {
    let project = Project::with_agent("rehearsal");
    project
        .rapport(&["serve"])
        .check(2, "no channel is configured: there is no token of a Telegram bot")
        .check(
            2,
            "Make a bot: write /newbot to @BotFather in Telegram, then export TELEGRAM_BOT_TOKEN=TOKEN",
        );
    project
        .rapport(&["serve", "--channel", "telegram"])
        .check(2, "the channel telegram is not configured: there is no token of a Telegram bot");
    project.rapport(&["serve", "--channel", "fax"]).check(2, "invalid value 'fax'").check(2, "telegram");
    project.rapport(&["doctor"]).check(
        0,
        "ok       telegram   no bot is set up; docs/telegram.md describes how to answer from a phone",
    );
}

#[test]
fn help_tells_what_configures_each_channel() {
    let project = Project::with_agent("rehearsal");
    project
        .rapport(&["serve", "--help"])
        .check(0, "--channel telegram: A Telegram bot")
        .check(0, "TELEGRAM_BOT_TOKEN=123:abc rapport serve");
}

#[test]
fn a_channel_that_cannot_start_is_named() {
    let project = Project::with_agent("rehearsal")
        .set("TELEGRAM_BOT_TOKEN", "1:a")
        .set("RAPPORT_TELEGRAM_QUIET", "at night");
    project
        .rapport(&["serve"])
        .check(2, "telegram: telegram.quiet: \"at night\" is not hours of the day")
        .check(2, "22:00-07:00");
}

/// The project to serve is a setting of `serve`; the older one of Telegram still counts.
#[test]
fn a_project_that_cannot_be_served_is_named() {
    for said in ["serve: { project: /not/there }\n", "telegram: { project: /not/there }\n"] {
        let project = Project::with_agent("rehearsal").set("TELEGRAM_BOT_TOKEN", "1:a");
        let file = project.path("home/.rapport/config.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, said).unwrap();
        project.rapport(&["serve"]).check(2, "cannot use /not/there as the project: ");
    }
}
