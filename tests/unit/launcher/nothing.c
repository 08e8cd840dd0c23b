/* Stands for libgsan.so and for the emulated driver, where a test is about the launcher alone. */
int test_launcher_nothing;
