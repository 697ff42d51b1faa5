/** The sign of the program: three counts. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" />
      <path d="M4.5 11.5V8.5M8 11.5V4.5M11.5 11.5V6.5" />
    </svg>
  );
}
