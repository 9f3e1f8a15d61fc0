//! The pure heart of Rapport.
